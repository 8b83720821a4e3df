// Sizes and dtypes that kernels are chosen by.
#pragma once

#include "device/launch.h"

namespace opencl_gpu {

inline bool is_half(int32_t dtype) { return dtype == TENON_BF16 || dtype == TENON_F16; }

// What sums of elements are kept in.
inline int32_t sum_dtype(int32_t dtype) { return is_half(dtype) ? TENON_F32 : dtype; }

inline uint64_t parts_of(uint64_t n, uint64_t part) { return (n + part - 1) / part; }

inline uint64_t aligned(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace opencl_gpu
