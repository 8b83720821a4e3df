// Rows of exponentials, for softmax, its losses and attention.
#pragma once

#include "kernels/vmath.h"

namespace tenon::cpu::TENON_CPU_ISA {

// exp(x) for x <= 1: below -87 it is 0. NaN stays.
TENON_INLINE f32x8 exp_low(f32x8 x) {
  const f32x8 v = max8(splat8(-87.f), x), magic = splat8(12582912.f);
  const f32x8 t = v * 1.44269504f + magic, n = t - magic;
  const f32x8 r = (v - n * 0.693359375f) + n * 2.12194440e-4f;
  const f32x8 p =
      horner(r, 5.0000001010e-01f, 1.6666512890e-01f, 4.1666187308e-02f, 8.3695982375e-03f, 1.3951716087e-03f);
  const f32x8 y = (1.f + (r + r * r * p)) * (f32x8)(((u32x8)t << 23) + 0x3f800000u);
  return x < -87.f ? f32x8{} : y;
}

// x[i, i + 8), lanes past n are `fill`.
TENON_INLINE f32x8 row8(const float* x, int64_t i, int64_t n, float fill) {
  if (i + 8 <= n) return load8(x + i);
  const i32x8 mask = lane_mask(n - i);
  return mask ? load8_mask(x + i, mask) : splat8(fill);
}
TENON_INLINE void put8(float* y, int64_t i, int64_t n, f32x8 v) {
  if (i + 8 <= n)
    store8(y + i, v);
  else
    store8_part(y + i, v, n - i);
}

TENON_INLINE float max_of_lanes(f32x8 v) {
  float m = v[0];
  for (int i = 1; i < 8; ++i) m = v[i] > m || v[i] != v[i] ? v[i] : m;
  return m;
}

// The largest of x[0, n); NaN wins.
inline float row_max(const float* x, int64_t n) {
  f32x8 a = splat8(-kInf), b = a;
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    a = max8_nan(a, load8(x + i));
    b = max8_nan(b, load8(x + i + 8));
  }
  for (; i < n; i += 8) a = max8_nan(a, row8(x, i, n, -kInf));
  return max_of_lanes(max8_nan(a, b));
}

// y = exp(x - max); returns the sum. y may be x; without kStore it is not touched.
template <bool kStore = true>
inline float row_exp(const float* x, int64_t n, float max, float* y) {
  const f32x8 m = splat8(max);
  f32x8 a = {}, b = {};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const f32x8 u = exp_low(load8(x + i) - m), v = exp_low(load8(x + i + 8) - m);
    if constexpr (kStore) store8(y + i, u), store8(y + i + 8, v);
    a += u, b += v;
  }
  for (; i < n; i += 8) {
    const f32x8 e = exp_low(row8(x, i, n, max) - m);
    if constexpr (kStore) put8(y, i, n, e);
    a += lane_mask(n - i) ? e : f32x8{};
  }
  return sum8(a + b);
}

// sum f(x[i]) over i < n, in lanes; f gets the position and must give 0 past n itself or by its loads.
template <class F>
TENON_INLINE float row_sum(int64_t n, F f) {
  f32x8 a = {}, b = {};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) a += f(i), b += f(i + 8);
  for (; i < n; i += 8) a += f(i);
  return sum8(a + b);
}

void add_softmax_loss(KernelTable& table);  // softmax_cross_entropy and its gradient

}  // namespace tenon::cpu::TENON_CPU_ISA
