// One dimension of each of Winograd's transforms (conv_winograd_tiles.h), and two of them.
#pragma once

#include "kernels/simd.h"

namespace tenon::cpu::TENON_CPU_ISA {

// No sum is of two products, so that contraction to FMA leaves no choice.
struct ImageRule {  // B^T
  static constexpr int kIn = 6, kOut = 6;
  template <class T>
  static TENON_INLINE void apply(const T* d, T* y) {
    y[0] = 1.265625f * d[0] + (d[4] - 2.8125f * d[2]);
    const T even = d[4] - 2.25f * d[2], odd = d[3] - 2.25f * d[1];
    y[1] = even + 0.75f * odd;
    y[2] = even - 0.75f * odd;
    const T far_even = d[4] - 0.5625f * d[2], far_odd = d[3] - 0.5625f * d[1];
    y[3] = far_even + 1.5f * far_odd;
    y[4] = far_even - 1.5f * far_odd;
    y[5] = 1.265625f * d[1] + (d[5] - 2.8125f * d[3]);
  }
};
struct FilterRule {  // G
  static constexpr int kIn = 3, kOut = 6;
  template <class T>
  static TENON_INLINE void apply(const T* g, T* y) {
    const T even = g[0] + 0.5625f * g[2], far_even = g[0] + 2.25f * g[2];
    y[0] = (64 / 81.f) * g[0];
    y[1] = (-128 / 243.f) * (even + 0.75f * g[1]);
    y[2] = (-128 / 243.f) * (even - 0.75f * g[1]);
    y[3] = (32 / 243.f) * (far_even + 1.5f * g[1]);
    y[4] = (32 / 243.f) * (far_even - 1.5f * g[1]);
    y[5] = g[2];
  }
};
struct ResultRule {  // A^T
  static constexpr int kIn = 6, kOut = 4;
  template <class T>
  static TENON_INLINE void apply(const T* m, T* y) {
    const T even = m[1] + m[2], odd = m[1] - m[2], far_even = m[3] + m[4], far_odd = m[3] - m[4];
    y[0] = (m[0] + even) + far_even;
    y[1] = 0.75f * (odd + 2.f * far_odd);
    y[2] = 0.5625f * (even + 4.f * far_even);
    y[3] = m[5] + 0.421875f * (odd + 8.f * far_odd);
  }
};
struct SlopeRule {  // A
  static constexpr int kIn = 4, kOut = 6;
  template <class T>
  static TENON_INLINE void apply(const T* g, T* y) {
    y[0] = g[0];
    const T even = g[0] + 0.5625f * g[2], odd = g[1] + 0.5625f * g[3];
    y[1] = even + 0.75f * odd;
    y[2] = even - 0.75f * odd;
    const T far_even = g[0] + 2.25f * g[2], far_odd = g[1] + 2.25f * g[3];
    y[3] = far_even + 1.5f * far_odd;
    y[4] = far_even - 1.5f * far_odd;
    y[5] = g[3];
  }
};
struct FilterGradRule {  // G^T
  static constexpr int kIn = 6, kOut = 3;
  template <class T>
  static TENON_INLINE void apply(const T* m, T* y) {
    const T even = m[1] + m[2], odd = m[1] - m[2], far_even = m[3] + m[4], far_odd = m[3] - m[4];
    y[0] = (32 / 243.f) * (6.f * m[0] + (far_even - 4.f * even));
    y[1] = (16 / 81.f) * (far_odd - 2.f * odd);
    y[2] = m[5] + (8 / 27.f) * (far_even - even);
  }
};

// F(2x2, 5x5) takes its polynomials at the same points, so that B^T is the same.
struct Filter5Rule {  // G
  static constexpr int kIn = 5, kOut = 6;
  template <class T>
  static TENON_INLINE void apply(const T* g, T* y) {
    const T even = g[0] + 0.5625f * (g[2] + 0.5625f * g[4]), far_even = g[0] + 2.25f * (g[2] + 2.25f * g[4]);
    const T odd = g[1] + 0.5625f * g[3], far_odd = g[1] + 2.25f * g[3];
    y[0] = (64 / 81.f) * g[0];
    y[1] = (-128 / 243.f) * (even + 0.75f * odd);
    y[2] = (-128 / 243.f) * (even - 0.75f * odd);
    y[3] = (32 / 243.f) * (far_even + 1.5f * far_odd);
    y[4] = (32 / 243.f) * (far_even - 1.5f * far_odd);
    y[5] = g[4];
  }
};
struct Result5Rule {  // A^T
  static constexpr int kIn = 6, kOut = 2;
  template <class T>
  static TENON_INLINE void apply(const T* m, T* y) {
    y[0] = (m[0] + (m[1] + m[2])) + (m[3] + m[4]);
    y[1] = m[5] + 0.75f * ((m[1] - m[2]) + 2.f * (m[3] - m[4]));
  }
};

// Keeps the compiler from moving loads together, which would spill, and from contracting a product with the sum that takes
// it, which it would do for one width of vectors and not for another.
template <class T>
TENON_INLINE void settle([[maybe_unused]] T& v) {
#ifdef __AVX__
  asm volatile("" : "+v"(v)::"memory");
#endif
}

// Keeps the compiler from contracting the product v with a sum that takes it.
template <class T>
TENON_INLINE void round_product([[maybe_unused]] T& v) {
#ifdef __AVX__
  asm("" : "+v"(v));
#endif
}

// Rule x Rule^T for a vector of channels, columns first.
template <class V, class Rule, class Load, class Store>
TENON_INLINE void square(const Load& load, const Store& store) {
  constexpr int kIn = Rule::kIn, kOut = Rule::kOut;
  typename V::Vector half[kOut][kIn], in[kIn], out[kOut];
#pragma GCC unroll 6
  for (int j = 0; j < kIn; ++j) {
#pragma GCC unroll 6
    for (int i = 0; i < kIn; ++i) in[i] = load(i, j);
    Rule::apply(in, out);
#pragma GCC unroll 6
    for (int i = 0; i < kOut; ++i) {
      half[i][j] = out[i];
      settle(half[i][j]);
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < kOut; ++i) {
    Rule::apply(half[i], out);
#pragma GCC unroll 6
    for (int j = 0; j < kOut; ++j) store(i, j, out[j]);
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
