// Launches of kernels that work on columns (kernels/common/columns.cl).
#pragma once

#include <algorithm>

#include "ops/shapes.h"

namespace opencl_gpu {

// x[rows, c] in pieces of `length` rows.
struct Columns {
  cl_ulong rows, c, pieces, length;

  // A CPU's piece stays in a cache between two readings, a GPU's are many.
  Columns(const Driver& driver, uint64_t r, uint64_t columns) : rows(r), c(columns) {
    const bool cpu = driver.style() == KernelStyle::kCpu;
    const uint64_t wanted = cpu ? std::max<uint64_t>(32, 16384 / c)
                                : std::clamp<uint64_t>(rows * c / (512 * driver.compute_units()), 16, 1024);
    length = std::min<uint64_t>(rows, wanted);
    pieces = parts_of(rows, length);
  }
};

inline Launch& over_columns(Launch& launch, const Driver& driver, const Columns& s) {
  if (driver.style() == KernelStyle::kGpu) return launch.items(s.pieces * s.c);
  const uint64_t blocks = s.pieces * parts_of(s.c, 256), most = std::min<uint64_t>(blocks, 4 * driver.compute_units());
  return launch.groups({std::clamp<uint64_t>(s.rows * s.c / 2048, 1, most)}, {1});
}

}  // namespace opencl_gpu
