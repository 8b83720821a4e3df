// The OpenCL devices of this machine.
#pragma once

#include <string>
#include <vector>

#include "api.h"

namespace opencl_gpu {

struct Found {
  cl_platform_id platform;
  cl_device_id device;
  cl_device_type type;
  std::string name;     // "NVIDIA H200 (NVIDIA CUDA)"
  std::string version;  // the driver's
};

// Every device of every platform: GPUs, then accelerators, then CPUs, each kind in the order of the loader. Throws
// UNAVAILABLE where there is none, with the reason and what to install. `host` is told of each that is passed over.
std::vector<Found> find_devices(const tenon_host* host = nullptr);

// Those that a spec names: all for "", one for "N", its index in the list. Throws UNAVAILABLE for any other.
std::vector<Found> devices_of(const std::string& spec, const tenon_host* host = nullptr);

// As tenon_backend's `enumerate` lists them.
std::vector<tenon_unit> enumerate_devices(const std::string& spec);

}  // namespace opencl_gpu
