// What tests of kernels of bf16 share: each runs on every instruction set, and on the widest with and without the instruction
// for products of pairs.
#pragma once

#include "float_bits.h"
#include "isa_test.h"

TENON_DECLARE_WIDE_FAMILY(add_matmul)
TENON_DECLARE_WIDE_FAMILY(add_convolution)
TENON_DECLARE_WIDE_FAMILY(add_random)
namespace tenon::cpu::avx512 {
extern bool pair_products;
}

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

// On avx512_bf16 the instruction for it, on the others arithmetic on f32.
inline std::vector<std::string> pair_isas() {
  std::vector<std::string> names = wide_isas();
  if (names.back() == "avx512" && __builtin_cpu_supports("avx512bf16")) names.push_back("avx512_bf16");
  return names;
}

class Pairs : public IsaTest {
 protected:
  Pairs() {
    const bool instruction = GetParam() == "avx512_bf16";
    const auto pick = [&](AddFamily baseline, AddFamily avx2, AddFamily avx512) {
      instruction ? avx512(table_) : use(baseline, avx2, avx512);
    };
    pick(cpu::baseline::add_matmul, cpu::avx2::add_matmul, cpu::avx512::add_matmul);
    pick(cpu::baseline::add_convolution, cpu::avx2::add_convolution, cpu::avx512::add_convolution);
    pick(cpu::baseline::add_random, cpu::avx2::add_random, cpu::avx512::add_random);
    cpu::avx512::pair_products = instruction;
  }
  ~Pairs() override { cpu::avx512::pair_products = false; }

  // Of any exponent that keeps products and their sums normal, now and then zero or subnormal.
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
