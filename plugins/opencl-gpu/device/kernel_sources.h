// The OpenCL C files of kernels/, as the library carries them.
#pragma once

#include <string>

namespace opencl_gpu {

// The text of kernels/NAME.cl, or nullptr.
const char* kernel_source(const std::string& name);

// All of them, one behind the other.
std::string all_kernel_sources();

}  // namespace opencl_gpu
