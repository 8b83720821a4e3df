// Matrix products inside another kernel: one thread, any row strides, the right side packed beforehand.
#pragma once

#include "kernels/gemm/gemm_tile.h"

namespace tenon::cpu::TENON_CPU_ISA {

// C [rows, n] (+)= A [rows, depth] W, W packed by pack_panels or pack_transposed with `packed_depth`.
struct Product {
  const float* a;
  const int64_t* a_rows;
  int64_t a_step;
  int64_t depth;
  const float* w;
  int64_t packed_depth;
  int64_t n;    // columns packed
  int64_t cut;  // columns wanted; C is written up to the end of their panel
  float* c;
  const int64_t* c_rows;
  int64_t rows;
  bool accumulate;
  bool pairs = false;  // A and W are words of two bf16 (pairs.h), which depth counts
  bool tiles = false;  // in the order of tiles (matrix_tile.h)
};
void multiply(const Product& p);

// Panels of the transpose of m [n, depth], rows `step` apart.
void pack_transposed(const float* m, int64_t n, int64_t depth, int64_t step, float* out);

// Room in floats, rounded up to whole cache lines.
inline int64_t lines(int64_t floats) { return (floats + 15) / 16 * 16; }

}  // namespace tenon::cpu::TENON_CPU_ISA
