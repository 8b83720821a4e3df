// The innermost step of sums with points in vectors (conv_planar.h, conv_winograd5.h).
#pragma once

#include "kernels/simd.h"

namespace tenon::cpu::TENON_CPU_ISA {

// V vectors of points, from x on, times the weight that each of F filters has for them.
template <int F, int V>
TENON_INLINE void add_products(const float* x, const float* w, Lanes::Vector (&sums)[F][V]) {
  Lanes::Vector from[V];
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) from[v] = Lanes::load(x + v * Lanes::kLanes);
#pragma GCC unroll 12
  for (int f = 0; f < F; ++f) {
    const Lanes::Vector weight = Lanes::splat(w[f]);
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) sums[f][v] += weight * from[v];
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
