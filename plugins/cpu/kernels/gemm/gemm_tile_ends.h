// Where the sums of a register tile come from and where they go.
#pragma once

#include "kernels/element/activation.h"
#include "kernels/gemm/gemm_tile.h"

namespace tenon::cpu::TENON_CPU_ISA {

// Columns of a panel's last vector.
template <class V>
struct Tail {
  explicit TENON_INLINE Tail(int64_t n) : columns(n), whole(n == V::kLanes), mask(V::first(n)) {}
  int64_t columns;
  bool whole;
  typename V::Mask mask;
};

template <class V, int NV>
TENON_INLINE typename V::Vector get(const float* from, int i, const Tail<V>& tail) {
  const float* at = from + V::kLanes * i;
  return tail.whole || i + 1 < NV ? V::load(at) : V::load(at, tail.mask);
}

alignas(64) inline constexpr float kZeros[64] = {};

// What a row's sums start from: C, the bias or zero. Plain: whole vectors, new sums and nothing after
// them but an activation, so that the tile has no branches.
template <class V, int NV, bool Plain>
TENON_INLINE void start(const Panel& p, const Tail<V>& tail, int64_t row, typename V::Vector* acc) {
  const float* from = p.bias ? p.bias : kZeros;
  if (!Plain && p.accumulate) from = p.c + row;
#pragma GCC unroll 4
  for (int i = 0; i < NV; ++i) acc[i] = Plain ? V::load(from + V::kLanes * i) : get<V, NV>(from, i, tail);
}

template <class V, int NV, bool Plain>
TENON_INLINE void finish(const Panel& p, const Tail<V>& tail, int64_t row, Clip clip, typename V::Vector* acc) {
  float* c = p.c + row;
  if (!Plain && p.norm.scale)
#pragma GCC unroll 4
    for (int i = 0; i < NV; ++i) {
      // Loaded first: a branch between product and sum would leave it to chance whether they are one instruction.
      const typename V::Vector mean = get<V, NV>(p.norm.mean, i, tail), scale = get<V, NV>(p.norm.scale, i, tail),
                               shift = get<V, NV>(p.norm.shift, i, tail);
      acc[i] = (acc[i] - mean) * scale + shift;
    }
  if (!Plain && p.residual)
#pragma GCC unroll 4
    for (int i = 0; i < NV; ++i) acc[i] += get<V, NV>(p.residual + row, i, tail);
#pragma GCC unroll 4
  for (int i = 0; i < NV; ++i) acc[i] = clip.apply<V>(acc[i]);
#pragma GCC unroll 4
  for (int i = 0; i + 1 < NV; ++i) V::store(c + V::kLanes * i, acc[i]);
  if (Plain)
    V::store(c + V::kLanes * (NV - 1), acc[NV - 1]);
  else
    V::store_part(c + V::kLanes * (NV - 1), acc[NV - 1], tail.columns);
}

// The activation of R rows that are stored, where it is no clip: by then the sums are out of the registers, which its
// polynomials need.
template <int R>
TENON_INLINE void activate(const Panel& p, const int64_t* c_rows) {
  if (!is_clip(p.act)) act_rows(p.act)(p.c, c_rows, R, p.columns, p.alpha);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
