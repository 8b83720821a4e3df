// The small products of a block of tiles (conv_winograd.h), 36 of each.
#pragma once

#include "kernels/kernels.h"

namespace tenon::cpu::TENON_CPU_ISA {

// C[r, n] (+)= sum over k of A(r, k) W[k, n], in the order of k; all rows of W and C begin at 64 bytes.
struct PlaneProduct {
  const float* a = nullptr;
  int64_t a_row = 0, a_step = 0;  // floats from A(r, k) to A(r + 1, k), to A(r, k + 1)
  const float* w = nullptr;
  int64_t w_step = 0;  // floats from a row of W to the next
  float* c = nullptr;
  int64_t c_row = 0;  // floats from a row of C to the next
  int64_t rows = 0, columns = 0, depth = 0;
  bool accumulate = false;
};

// Whether there is a kernel for these strides and columns. Kernels need whole vectors and 32 registers; the distance of
// rows is a constant, so that their addresses cost nothing.
bool has_plane_kernel(const PlaneProduct& product);
void multiply_plane(const PlaneProduct& product);

}  // namespace tenon::cpu::TENON_CPU_ISA
