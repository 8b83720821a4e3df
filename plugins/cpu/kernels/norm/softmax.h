// Rows of exponentials, for softmax, its losses and attention.
#pragma once

#include "kernels/bf16.h"
#include "kernels/vmath.h"

namespace tenon::cpu::TENON_CPU_ISA {

// exp(x) for x <= 1: below -87 it is 0. NaN stays.
template <class V>
TENON_INLINE V exp_low(V x) {
  const Powers<V> e = powers_of(vmax(splat<V>(-87.f), x));
  return x < -87.f ? V{} : exp_of_rest(e.r) * power_of_two(e);
}

// x[i, i + the lanes), lanes past n are `fill`.
template <class L>
TENON_INLINE typename L::Vector row(const float* x, int64_t i, int64_t n, float fill) {
  return i + L::kLanes <= n ? L::load(x + i) : L::load(x + i, L::first(n - i), L::splat(fill));
}
template <class L>
TENON_INLINE void put(float* y, int64_t i, int64_t n, typename L::Vector v) {
  if (i + L::kLanes <= n)
    L::store(y + i, v);
  else
    L::store_part(y + i, v, n - i);
}
template <class T>
TENON_INLINE f32x8 row8(const T* x, int64_t i, int64_t n, float fill) {
  return row<Lanes8>(x, i, n, fill);
}
template <class T>
TENON_INLINE void put8(T* y, int64_t i, int64_t n, f32x8 v) {
  put<Lanes8>(y, i, n, v);
}

TENON_INLINE float max_of_lanes(f32x8 v) {
  v = vmax_nan(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3));
  v = vmax_nan(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5));
  return vmax_nan(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6))[0];
}

// Sixteen elements in one vector or two. Loops over rows take them together, so that sums do not depend on the vectors'
// width.
struct Sixteen {
  static constexpr int kWays = 16 / Lanes::kLanes;
  Lanes::Vector way[kWays];

  static TENON_INLINE Sixteen splat(float x) {
    Sixteen s;
    for (auto& w : s.way) w = Lanes::splat(x);
    return s;
  }
#ifdef __AVX512F__
  TENON_INLINE f32x8 low() const { return __builtin_shufflevector(way[0], way[0], 0, 1, 2, 3, 4, 5, 6, 7); }
  TENON_INLINE f32x8 high() const { return __builtin_shufflevector(way[0], way[0], 8, 9, 10, 11, 12, 13, 14, 15); }
#else
  TENON_INLINE f32x8 low() const { return way[0]; }
  TENON_INLINE f32x8 high() const { return way[1]; }
#endif
};

// The largest of x[0, n); NaN wins.
template <class T>
inline float row_max(const T* x, int64_t n) {
  Sixteen most = Sixteen::splat(-kInf);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int w = 0; w < Sixteen::kWays; ++w)
      most.way[w] = vmax_nan(most.way[w], row<Lanes>(x, i + w * Lanes::kLanes, n, 0));
  f32x8 all = vmax_nan(most.low(), most.high());
  for (; i < n; i += 8) all = vmax_nan(all, row8(x, i, n, -kInf));
  return max_of_lanes(all);
}

// y = exp(x - max); returns the sum. y may be x; without kStore it is not touched.
template <bool kStore = true, class T = float>
inline float row_exp(const T* x, int64_t n, float max, float* y) {
  const Lanes::Vector m = Lanes::splat(max);
  Sixteen sums = Sixteen::splat(0);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int w = 0; w < Sixteen::kWays; ++w) {
      const int64_t at = i + w * Lanes::kLanes;
      const Lanes::Vector e = exp_low(row<Lanes>(x, at, n, 0) - m);
      if constexpr (kStore) Lanes::store(y + at, e);
      sums.way[w] += e;
    }
  f32x8 low = sums.low();
  for (; i < n; i += 8) {
    const f32x8 e = exp_low(row8(x, i, n, max) - max);
    if constexpr (kStore) put8(y, i, n, e);
    low += lane_mask(n - i) ? e : f32x8{};
  }
  return sum8(low + sums.high());
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

// The dot product of two rows of f32 or of bf16.
template <class T>
float row_dot(const T* x, const T* y, int64_t n) {
  return row_sum(n, [=](int64_t i) { return i < n ? row8(x, i, n, 0) * row8(y, i, n, 0) : f32x8{}; });
}

void add_softmax_loss(KernelTable& table);  // softmax_cross_entropy and its gradient

}  // namespace tenon::cpu::TENON_CPU_ISA
