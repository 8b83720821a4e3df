// Vectors of bf16, whose elements are uint16_t here, and the f32 vectors that they are worked on as.
#pragma once

#include <bit>

#include "kernels/pairs.h"

namespace tenon::cpu::TENON_CPU_ISA {

template <class L>
using Halves = typename L::Halves;

template <class L>
TENON_INLINE typename L::Vector widen_bf16(Halves<L> h) {
  return (typename L::Vector)(L::words(h) << 16);
}
// In the low half of each word: nearest even, NaN stays. By the bits alone, the same under any mode of the processor.
template <class L>
TENON_INLINE typename L::Words bf16_words(typename L::Vector f) {
  const typename L::Words b = (typename L::Words)f;
  const typename L::Words rounded = (b + 0x7fff + ((b >> 16) & 1)) >> 16;
  return (typename L::Ints)(b & 0x7fffffff) > 0x7f800000 ? (b >> 16) | 0x40 : rounded;
}
template <class L>
TENON_INLINE Halves<L> narrow_bf16(typename L::Vector f) {
  return L::halves(bf16_words<L>(f));
}
#ifdef __AVX512BF16__
// One instruction does so, but takes subnormal numbers for zeros.
template <>
TENON_INLINE Halves<Lanes16> narrow_bf16<Lanes16>(Lanes16::Vector f) {
  const __m512i b = std::bit_cast<__m512i>(f);
  const __mmask16 small = _mm512_testn_epi32_mask(b, _mm512_set1_epi32(0x7f800000));
  const bool subnormal = _mm512_mask_test_epi32_mask(small, b, _mm512_set1_epi32(0x007fffff)) != 0;
  if (__builtin_expect(subnormal || !has_pair_products(), 0)) return Lanes16::halves(bf16_words<Lanes16>(f));
  return std::bit_cast<Halves<Lanes16>>(_mm512_cvtneps_pbh(std::bit_cast<__m512>(f)));
}
#endif

// As row() and put() of softmax.h.
template <class L>
TENON_INLINE typename L::Vector row(const uint16_t* x, int64_t i, int64_t n, float fill) {
  if (i + L::kLanes <= n) return widen_bf16<L>(load_as<Halves<L>>(x + i));
  typename L::Vector v = L::splat(fill);
  for (int64_t j = 0; i + j < n; ++j) v[j] = std::bit_cast<float>(static_cast<uint32_t>(x[i + j]) << 16);
  return v;
}
template <class L>
TENON_INLINE void put(uint16_t* y, int64_t i, int64_t n, typename L::Vector v) {
  const Halves<L> h = narrow_bf16<L>(v);
  if (i + L::kLanes <= n)
    std::memcpy(y + i, &h, sizeof h);
  else
    for (int64_t j = 0; i + j < n; ++j) y[i + j] = h[j];
}

// y[n] from x[n], for rows so short that a call would cost as much.
TENON_INLINE void narrow_row(const float* x, int64_t n, uint16_t* y) {
  int64_t i = 0;
  for (; i + Lanes::kLanes <= n; i += Lanes::kLanes) put<Lanes>(y, i, n, Lanes::load(x + i));
  if (i < n) put<Lanes>(y, i, n, Lanes::load(x + i, Lanes::first(n - i)));
}

}  // namespace tenon::cpu::TENON_CPU_ISA
