// Products of bf16 by pairs of terms. A word, as wide as a float and moved as one, holds two neighbours in the order of k,
// the first in its low half. A pair adds first the product of the high halves to a sum, then that of the low halves. Each
// product is exact and rounded once with the sum. Subnormal operands and results are zeros of their sign.
//
// The instruction of AVX512_BF16 does so (Intel, Software Developer's Manual, VDPBF16PS). Other instructions give the same
// bits under FlushSubnormals where a product and its sum are one instruction (FMA). There matmul_pairs.cc packs what
// words hold, widened to f32 in the order of the sum, for the f32 tile; what is small (attention) has words unpacked by the
// tile.
#pragma once

#include <algorithm>
#include <bit>

#include "kernels/simd.h"
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace tenon::cpu::TENON_CPU_ISA {

// Vectors of words, by f32 arithmetic.
template <class L>
struct Pairs : L {
  using Vector = typename L::Vector;
  using Words = typename L::Words;
  // As an integer: arithmetic would not keep all bits.
  static TENON_INLINE Vector splat(float word) { return (Vector)(Words{} + std::bit_cast<uint32_t>(word)); }
  static TENON_INLINE Vector high(Vector x) { return (Vector)((Words)x & 0xffff0000u); }
  static TENON_INLINE Vector low(Vector x) { return (Vector)((Words)x << 16); }
  static TENON_INLINE Vector add_product(Vector sum, Vector a, Vector b) {
    sum = sum + high(a) * high(b);
    return sum + low(a) * low(b);
  }
};

#ifdef __AVX512BF16__
// The same by the processor's instruction. REQUIRES has_pair_products().
struct PairProducts8 : Pairs<Lanes8> {
  static TENON_INLINE Vector add_product(Vector sum, Vector a, Vector b) {
    return std::bit_cast<Vector>(
        _mm256_dpbf16_ps(std::bit_cast<__m256>(sum), std::bit_cast<__m256bh>(a), std::bit_cast<__m256bh>(b)));
  }
};
struct PairProducts : Pairs<Lanes16> {
  static TENON_INLINE Vector add_product(Vector sum, Vector a, Vector b) {
    return std::bit_cast<Vector>(
        _mm512_dpbf16_ps(std::bit_cast<__m512>(sum), std::bit_cast<__m512bh>(a), std::bit_cast<__m512bh>(b)));
  }
};

// Set before kernels are made: whether this processor has it, and TENON_CPU_ISA does not ask for less.
extern bool pair_products;
inline bool has_pair_products() { return pair_products; }
#else
constexpr bool has_pair_products() { return false; }
#endif

// While one lives, its thread has this mode of subnormals, if the processor has such a mode.
class SubnormalMode {
 public:
  SubnormalMode(const SubnormalMode&) = delete;
  SubnormalMode& operator=(const SubnormalMode&) = delete;

 protected:
#ifdef __SSE2__
  explicit SubnormalMode(bool flush) : before_(_mm_getcsr()) {
    _mm_setcsr(flush ? before_ | kFlushes : before_ & ~kFlushes);
  }
  ~SubnormalMode() { _mm_setcsr(before_); }
#else
  explicit SubnormalMode(bool) {}
  ~SubnormalMode() {}
#endif

 private:
  static constexpr unsigned kFlushes = 0x8040;  // MXCSR: FTZ, DAZ
  [[maybe_unused]] unsigned before_ = 0;
};
// Subnormal operands and results are taken for zeros.
struct FlushSubnormals : SubnormalMode {
  FlushSubnormals() : SubnormalMode(true) {}
};
// They are what they are, within a FlushSubnormals too.
struct SeeSubnormals : SubnormalMode {
  SeeSubnormals() : SubnormalMode(false) {}
};

// n words of the elements of two rows. Inline: n is often a constant, or small.
TENON_INLINE void pair_words(const uint16_t* low, const uint16_t* high, int64_t n, uint32_t* to) {
  using Halves = Lanes::Halves;
  const auto pair = [](Halves a, Halves b) { return Lanes::words(a) | Lanes::words(b) << 16; };
  int64_t i = 0;
  for (; i + Lanes::kLanes <= n; i += Lanes::kLanes) {
    const Lanes::Words both = pair(load_as<Halves>(low + i), load_as<Halves>(high + i));
    std::memcpy(to + i, &both, sizeof both);
  }
#ifdef __AVX512BW__
  if (i == n) return;
  const __mmask16 rest = static_cast<__mmask16>((1u << (n - i)) - 1);
  const Lanes::Words both =
      pair((Halves)_mm256_maskz_loadu_epi16(rest, low + i), (Halves)_mm256_maskz_loadu_epi16(rest, high + i));
  _mm512_mask_storeu_epi32(to + i, rest, (__m512i)both);
#else
  for (const int64_t end = std::max(i, n); i < end; ++i) to[i] = low[i] | static_cast<uint32_t>(high[i]) << 16;
#endif
}

// n elements as f32. Inline as above.
TENON_INLINE void widen_halves(const uint16_t* from, int64_t n, uint32_t* to) {
  int64_t i = 0;
  for (; i + Lanes::kLanes <= n; i += Lanes::kLanes) {
    const Lanes::Words wide = Lanes::words(load_as<Lanes::Halves>(from + i)) << 16;
    std::memcpy(to + i, &wide, sizeof wide);
  }
  for (; i < n; ++i) to[i] = static_cast<uint32_t>(from[i]) << 16;
}

// to[w][n] for w in `words`: pairs of the rows of from[k][n], the last with zeros where k is odd.
void pair_rows(const uint16_t* from, int64_t k, int64_t n, Slice words, uint32_t* to);
// As pack_panels (gemm_tile.h): a word for each of k rows of `low` and of `high`, which is zeros where it is nullptr.
void pair_panels(const uint16_t* low, const uint16_t* high, int64_t k, int64_t n, int64_t ld, int64_t depth,
                 float* out);
// What n words hold: two floats each, the one that is added first in front.
void widen_pairs(const uint16_t* from, int64_t n, uint32_t* to);
// As pair_rows and pair_columns, of what the words hold.
void widen_rows(const uint16_t* from, int64_t k, int64_t n, Slice words, uint32_t* to);
void widen_columns(const uint16_t* from, int64_t k, Slice rows, uint32_t* to);
// As pack_panels, of k rows of bf16 in the order of widen_rows; k is even.
void widen_panels(const uint16_t* from, int64_t k, int64_t n, int64_t ld, int64_t depth, float* out);
// Words of n points of c channels each, `pitch` apart in `to`; as above `high` may be nullptr.
void pair_points(const uint16_t* low, const uint16_t* high, int64_t n, int64_t c, int64_t pitch, float* to);
// to[n]: a word of each of two rows of f32, rounded.
void pair_floats(const float* low, const float* high, int64_t n, float* to);
// to[r][w] for r in `rows`: pairs of the columns of from[rows][k]. Where k is even they lie so already.
void pair_columns(const uint16_t* from, int64_t k, Slice rows, uint32_t* to);

}  // namespace tenon::cpu::TENON_CPU_ISA
