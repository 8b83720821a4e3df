// Products of f32 by those of bf16 terms (plugins/cpu/kernels/gemm/pairs/split_product.h), beside sums in f64 and beside the definition
// of products of bf16.
#include <cmath>

#include "pairs_fixture.h"

namespace tenon::cpu::avx512 {
extern int f32_terms;
}  // namespace tenon::cpu::avx512

namespace tenon::testing {
namespace {

// Where there is an instruction for products of bf16.
class SplitProduct : public Pairs {
 protected:
  SplitProduct() { cpu::avx512::f32_terms = 2; }
  ~SplitProduct() override { cpu::avx512::f32_terms = 0; }

  struct Size {
    int64_t batch, m, n, k;
    bool ta, tb;
  };
  Floats dot(const Size& s, const Floats& a, const Floats& b, int32_t precision = TENON_PRECISION_DEFAULT) {
    return run(1,
               [&](NodeRun& node) {
                 node.in(TENON_F32, s.ta ? Dims{s.batch, s.k, s.m} : Dims{s.batch, s.m, s.k}, a);
                 node.in(TENON_F32, s.tb ? Dims{s.batch, s.n, s.k} : Dims{s.batch, s.k, s.n}, b);
                 node.out(TENON_F32, {s.batch, s.m, s.n});
                 node.op("dot").attr_bool("ta", s.ta).attr_bool("tb", s.tb).attr_enum("precision", precision);
               })
        .get(0);
  }
  static float at_a(const Size& s, const Floats& a, int64_t p, int64_t i, int64_t k) {
    return a[static_cast<size_t>(p * s.m * s.k + (s.ta ? k * s.m + i : i * s.k + k))];
  }
  static float at_b(const Size& s, const Floats& b, int64_t p, int64_t j, int64_t k) {
    return b[static_cast<size_t>(p * s.k * s.n + (s.tb ? j * s.k + k : k * s.n + j))];
  }
  // The largest error, in units of sum|a||b|.
  double error_of(const Size& s, const Floats& a, const Floats& b, const Floats& c) {
    double worst = 0;
    for (int64_t p = 0; p < s.batch; ++p)
      for (int64_t i = 0; i < s.m; ++i)
        for (int64_t j = 0; j < s.n; ++j) {
          double sum = 0, size = 0;
          for (int64_t k = 0; k < s.k; ++k) {
            const double x = at_a(s, a, p, i, k), y = at_b(s, b, p, j, k);
            sum += x * y;
            size += std::abs(x * y);
          }
          worst = std::max(worst, std::abs(c[static_cast<size_t>((p * s.m + i) * s.n + j)] - sum) / size);
        }
    return worst;
  }
};

std::vector<std::string> isas_with_pairs() {
  std::vector<std::string> names = pair_isas();
  std::erase_if(names, [](const std::string& name) { return name != "avx512_bf16" && name != "amx"; });
  return names;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SplitProduct);
INSTANTIATE_TEST_SUITE_P(Isa, SplitProduct, ::testing::ValuesIn(isas_with_pairs()),
                         [](const auto& info) { return info.param; });

float term(float x, int index) {
  float value = 0;
  for (int t = 0; t <= index; ++t) {
    value = from_half(TENON_BF16, to_half(TENON_BF16, x));
    x -= value;
  }
  return value;
}

// Two terms drop what is at most 2^-16 of a product, and round it to 2^-18 twice; three nothing that sums in f32 would keep.
TEST_P(SplitProduct, AnErrorIsWithinTheBound) {
  for (const auto& s : {Size{1, 40, 70, 64, false, false},
                        {1, 33, 32, 515, true, false},
                        {3, 50, 48, 130, false, true},
                        {2, 64, 96, 33, true, true},
                        {1, 200, 300, 1100, false, false}}) {
    const Floats a = random(s.batch * s.m * s.k), b = random(s.batch * s.k * s.n);
    const double two = error_of(s, a, b, dot(s, a, b));
    EXPECT_LT(two, std::ldexp(1, -16)) << s.k;
    EXPECT_GT(two, std::ldexp(1, -24)) << s.k << ": f32 arithmetic";
    for (const int32_t precision : {TENON_PRECISION_HIGH, TENON_PRECISION_HIGHEST})
      EXPECT_LT(error_of(s, a, b, dot(s, a, b, precision)), std::ldexp(1, -22)) << s.k;
    cpu::avx512::f32_terms = 3;
    EXPECT_LT(error_of(s, a, b, dot(s, a, b)), std::ldexp(1, -22)) << s.k;
    cpu::avx512::f32_terms = 2;
  }
}

TEST_P(SplitProduct, SmallNumbersAreWithinTheBound) {
  const Size s{1, 32, 32, 64, false, false};
  Floats a = random(s.m * s.k, 1e-30f, 2e-30f), b = random(s.k * s.n, 1e5f, 1e6f);
  EXPECT_LT(error_of(s, a, b, dot(s, a, b)), std::ldexp(1, -16));
  EXPECT_LT(error_of(s, a, b, dot(s, a, b, TENON_PRECISION_HIGH)), std::ldexp(1, -22));
}

// One sum of the terms' products, those of the smallest terms first.
TEST_P(SplitProduct, IsTheDefinitionBitByBit) {
  const std::vector<std::pair<int, int>> of_two{{0, 1}, {1, 0}, {0, 0}},
      of_three{{0, 2}, {2, 0}, {1, 1}, {0, 1}, {1, 0}, {0, 0}};
  for (const auto& s : {Size{2, 35, 40, 50, false, false}, {1, 48, 33, 35, true, true}}) {
    const Floats a = random(s.batch * s.m * s.k), b = random(s.batch * s.k * s.n);
    for (const auto& [precision, pairs] :
         {std::pair{TENON_PRECISION_DEFAULT, of_two}, {TENON_PRECISION_HIGH, of_three}}) {
      const Floats c = dot(s, a, b, precision);
      for (int64_t p = 0; p < s.batch; ++p)
        for (int64_t i = 0; i < s.m; ++i)
          for (int64_t j = 0; j < s.n; ++j) {
            const float want = sum_of_pairs(s.k * std::ssize(pairs), [&, &pairs = pairs](int64_t t) {
              const auto [of_a, of_b] = pairs[static_cast<size_t>(t / s.k)];
              return std::pair{term(at_a(s, a, p, i, t % s.k), of_a), term(at_b(s, b, p, j, t % s.k), of_b)};
            });
            ASSERT_EQ(bits_of(c[static_cast<size_t>((p * s.m + i) * s.n + j)]), bits_of(want))
                << p << ' ' << i << ' ' << j;
          }
    }
  }
}

// Two terms hold 16 bits.
TEST_P(SplitProduct, IntegersThatTermsHoldAreExact) {
  const Size s{1, 32, 32, 32, false, false};
  Floats a(32 * 32), b(32 * 32, 0.0f);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * 37 % 65536);
  for (size_t i = 0; i < 32; ++i) b[i * 33] = static_cast<float>(i);
  const Floats c = dot(s, a, b);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(c[i], a[i] * static_cast<float>(i % 32)) << i;
}

TEST_P(SplitProduct, WhatIsNotFiniteStaysInItsRowsAndColumns) {
  const Size s{1, 32, 40, 600, false, false};
  Floats a = random(s.m * s.k, 0.5f, 1), b = random(s.k * s.n, 0.5f, 1);
  a[5 * 600 + 7] = kInf;
  a[9 * 600 + 599] = kNaN;
  b[100 * 40 + 3] = -kInf;
  b[300 * 40 + 8] = 3.4e38f;  // rounds to an infinity
  const Floats c = dot(s, a, b);
  for (int64_t i = 0; i < 32; ++i)
    for (int64_t j = 0; j < 40; ++j) {
      const float x = c[static_cast<size_t>(i * 40 + j)];
      if (i == 9 || (i == 5 && j == 3))
        EXPECT_TRUE(std::isnan(x)) << i << ' ' << j;
      else if (i == 5 || j == 3 || j == 8)
        EXPECT_EQ(x, j == 3 ? -kInf : kInf) << i << ' ' << j;
      else
        EXPECT_TRUE(std::isfinite(x)) << i << ' ' << j;
    }
}

TEST_P(SplitProduct, BiasResidualActivationAndDropoutAreThoseOfF32) {
  const Size s{1, 64, 48, 200, false, false};
  const Floats a = random(s.m * s.k), b = random(s.k * s.n), bias = random(s.n, 100, 200), residual = random(s.m * s.n);
  const auto whole = [&] {
    return run(1,
               [&](NodeRun& node) {
                 node.in(TENON_F32, {s.m, s.k}, a).in(TENON_F32, {s.k, s.n}, b).in(TENON_F32, {s.n}, bias);
                 node.in(TENON_F32, {s.m, s.n}, residual).out(TENON_F32, {s.m, s.n});
                 node.op("dot_bias_act").attr_enum("act", TENON_ACT_RELU);
               })
        .get(0);
  };
  const auto dropped = [&] {
    return run(1,
               [&](NodeRun& node) {
                 node.in(TENON_F32, {s.m, s.k}, a).in(TENON_F32, {s.k, s.n}, b).in(TENON_F32, {s.n}, bias);
                 node.in(TENON_I64, {}, std::vector<int64_t>{5}).in(TENON_I64, {}, std::vector<int64_t>{6});
                 node.in(TENON_F32, {s.m, s.n}, residual).out(TENON_F32, {s.m, s.n});
                 node.op("cpu.dot_dropout").attr_f64("rate", 0.25).attr_i64("stream", 9);
               })
        .get(0);
  };
  const Floats by_terms = whole(), dropped_by_terms = dropped();
  cpu::avx512::f32_terms = 0;
  expect_near(by_terms, whole(), 1e-5);
  expect_near(dropped_by_terms, dropped(), 1e-5);
}

TEST_P(SplitProduct, NarrowProductsStayInF32) {
  const Size s{1, 31, 64, 64, false, false};
  const Floats a = random(s.m * s.k), b = random(s.k * s.n), c = dot(s, a, b);
  cpu::avx512::f32_terms = 0;
  EXPECT_EQ(c, dot(s, a, b));
}

}  // namespace
}  // namespace tenon::testing
