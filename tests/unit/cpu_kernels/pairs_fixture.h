// What tests of kernels of bf16 share: each runs on every instruction set, and on the widest without the instruction for
// products of pairs, with it, and with tiles.
#pragma once

#include "float_bits.h"
#include "isa_test.h"

TENON_DECLARE_WIDE_FAMILY(add_matmul)
TENON_DECLARE_WIDE_FAMILY(add_convolution)
TENON_DECLARE_WIDE_FAMILY(add_random)
namespace tenon::cpu::avx512 {
extern bool pair_products, tile_products;
bool request_tiles();
}  // namespace tenon::cpu::avx512

namespace tenon::testing {

using Halves = std::vector<uint16_t>;

inline Doubles values_of(const Halves& x) {
  const Floats v = from_halves(TENON_BF16, x);
  return {v.begin(), v.end()};
}
inline void expect_rounded(const Halves& got, const Doubles& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(from_half(TENON_BF16, got[i]), want[i], std::abs(want[i]) / 256 + tolerance) << "element " << i;
}

// On amx tiles, on avx512_bf16 the instruction for pairs, on the others arithmetic on f32.
inline std::vector<std::string> pair_isas() {
  std::vector<std::string> names = wide_isas();
  if (names.back() == "avx512" && __builtin_cpu_supports("avx512bf16")) names.push_back("avx512_bf16");
  if (names.back() == "avx512_bf16" && cpu::avx512::request_tiles()) names.push_back("amx");
  return names;
}

inline float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
inline float value(const Halves& x, int64_t i) { return flushed(from_half(TENON_BF16, x[static_cast<size_t>(i)])); }

class Pairs : public IsaTest {
 protected:
  Pairs() {
    const bool instruction = GetParam() == "avx512_bf16" || by_tiles();
    const auto pick = [&](AddFamily baseline, AddFamily avx2, AddFamily avx512) {
      instruction ? avx512(table_) : use(baseline, avx2, avx512);
    };
    pick(cpu::baseline::add_matmul, cpu::avx2::add_matmul, cpu::avx512::add_matmul);
    pick(cpu::baseline::add_convolution, cpu::avx2::add_convolution, cpu::avx512::add_convolution);
    pick(cpu::baseline::add_random, cpu::avx2::add_random, cpu::avx512::add_random);
    cpu::avx512::pair_products = instruction;
    cpu::avx512::tile_products = by_tiles();
  }
  ~Pairs() override { cpu::avx512::pair_products = cpu::avx512::tile_products = false; }

  bool by_tiles() const { return GetParam() == "amx"; }

  // The definitions of a sum of k terms, each a pair of factors, each step rounded once. By pairs the second product of a pair
  // is added first (pairs.h). By tiles even and odd terms of each 32 are added up apart, then to each other, then to the sum
  // (matrix_tile.h).
  template <class Term>
  float sum_of_pairs(int64_t k, const Term& term) const {
    const auto add = [&](float sum, int64_t at) {
      const auto [x, y] = at < k ? term(at) : std::pair<float, float>{0.0f, 0.0f};
      return flushed(std::fma(x, y, sum));
    };
    float sum = 0;
    if (!by_tiles()) {
      for (int64_t w = 0; w < k; w += 2) sum = add(add(sum, w + 1), w);
      return sum;
    }
    for (int64_t first = 0; first < k; first += 32) {
      float even = 0, odd = 0;
      for (int64_t w = first; w < first + 32; w += 2) even = add(even, w), odd = add(odd, w + 1);
      sum = flushed(sum + flushed(even + odd));
    }
    return sum;
  }

  // Numbers with exponents in [low, high], now and then zero or subnormal.
  Halves numbers(int64_t n, int low, int high) {
    Halves v(static_cast<size_t>(n));
    for (uint16_t& x : v) {
      x = static_cast<uint16_t>((random_() & 1) << 15 | (127 + low + random_() % (high - low + 1)) << 7 |
                                (random_() & 127));
      if (random_() % 16 == 0) x &= 0x8000;
      if (random_() % 16 == 0) x &= 0x807f;
    }
    return v;
  }
};

}  // namespace tenon::testing
