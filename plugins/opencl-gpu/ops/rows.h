// Launches of kernels that work on rows (kernels/common/rows.cl), and numbers in the dtype that a kernel computes with.
#pragma once

#include <algorithm>

#include "device/kernel_sources.h"
#include "device/launch.h"
#include "ops/shapes.h"

namespace opencl_gpu {

inline std::string row_source(const char* file) { return std::string(kernel_source("rows")) + kernel_source(file); }

// The kernel works on `rows` rows of n elements.
inline Launch& over_rows(Launch& launch, const Driver& driver, uint64_t rows, uint64_t n) {
  if (driver.style() == KernelStyle::kCpu) {
    constexpr uint64_t kLeast = 1024;  // elements, each of which takes some operations, that pay for a work-group
    const uint64_t items =
        std::clamp<uint64_t>(rows * n / kLeast, 1, std::min<uint64_t>(rows, 4 * driver.compute_units()));
    return launch.groups({items}, {1});
  }
  uint64_t lanes = 32;
  while (lanes < 256 && lanes * 4 < n) lanes *= 2;
  return launch.groups({std::min<uint64_t>(rows, 64 * driver.compute_units())}, {lanes});
}

// A number of the kernel's W.
inline Launch& real(Launch& launch, int32_t dtype, double value) {
  return dtype == TENON_F64 ? launch.value<cl_double>(value) : launch.value<cl_float>(static_cast<cl_float>(value));
}

}  // namespace opencl_gpu
