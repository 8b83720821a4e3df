#include "conformance/reference/error_bound.h"

#include <cmath>

#include "unit/reference/node.h"

namespace tenon::reference {
namespace {

const double kEps = std::ldexp(1, -23);

// The tolerance of `node`, whose only result is declared here.
Tensor bound_of(Node& node, int32_t dtype, const std::vector<int64_t>& dims, double factor = 1) {
  Tensor y = node.run(dtype, dims);
  round_to_dtype(y);
  return bound(node.view(), node.operands(), {y}, 0, factor);
}

TEST(ErrorBound, ElementwiseOpsHaveTheirUlpsAndTheReferencesHalf) {
  Node exp("exp", {floats({2}, {0, 1})});
  expect_floats(bound_of(exp, TENON_F32, {2}), {3.5 * kEps, 7 * kEps});
  Node add("add", {floats({1}, {1}), floats({1}, {0.5})});
  expect_floats(bound_of(add, TENON_F32, {1}), {kEps});
  Node wide("div", {floats({1}, {3}, TENON_F64), floats({1}, {2}, TENON_F64)});
  expect_floats(bound_of(wide, TENON_F64, {1}), {3.5 * std::ldexp(1, -52)});
}

TEST(ErrorBound, SixteenBitsMayRoundToTheNeighbour) {
  Node add("add", {floats({1}, {1}, TENON_BF16), floats({1}, {0.5}, TENON_BF16)});
  expect_floats(bound_of(add, TENON_BF16, {1}), {std::ldexp(1, -7) + 0.5 * kEps});
}

TEST(ErrorBound, MovementComparisonAndIntegersAreExact) {
  Node reverse("reverse", {floats({2}, {1, 2})});
  expect_floats(bound_of(reverse.list("axes", {0}), TENON_F32, {2}, 10), {0, 0});
  Node max("max", {floats({1}, {1}), floats({1}, {2})});
  expect_floats(bound_of(max, TENON_F32, {1}), {0});
  Node sum("reduce", {ints({2}, {1, 2})});
  expect_floats(bound_of(sum.list("axes", {0}).enumerator("kind", TENON_REDUCE_SUM), TENON_I32, {}), {0});
}

TEST(ErrorBound, SumsGrowWithTheirTermsAndNotWithTheirResult) {
  Node sum("reduce", {floats({3}, {1000, -1000, 1})});
  expect_floats(bound_of(sum.list("axes", {0}).enumerator("kind", TENON_REDUCE_SUM), TENON_F32, {}),
                {3 * kEps * 2001 + 0.5 * kEps}, 1e-18);
  Node scatter("scatter", {floats({2}, {1, 0}), ints({2}, {0, 0}), floats({2}, {2, -3})});
  scatter.enumerator("kind", TENON_SCATTER_ADD);
  EXPECT_NEAR(bound_of(scatter, TENON_F32, {2}).f[0], 3 * kEps * 6, 1e-40);
}

TEST(ErrorBound, PrecisionIsALicenceOfF32Only) {
  const auto dot = [](int32_t dtype, int64_t precision) {
    Node node("dot", {floats({1, 2}, {1, -2}, dtype), floats({2, 1}, {3, 4}, dtype)});
    node.enumerator("precision", precision);
    return bound_of(node, dtype, {1, 1}).f[0];
  };
  const double sum = 11, rest = 2 * kEps * sum + 2 * kEps;  // |y| = 5: half an ulp is 2 eps
  EXPECT_NEAR(dot(TENON_F32, TENON_PRECISION_DEFAULT), rest + sum / 64, 1e-12);
  EXPECT_NEAR(dot(TENON_F32, TENON_PRECISION_HIGH), rest + sum / 16384, 1e-12);
  EXPECT_NEAR(dot(TENON_F32, TENON_PRECISION_HIGHEST), rest + 4 * kEps * sum, 1e-12);
  EXPECT_NEAR(dot(TENON_BF16, TENON_PRECISION_DEFAULT), 2 * kEps * sum + std::ldexp(1, -5), 1e-12);
  EXPECT_LT(dot(TENON_F64, TENON_PRECISION_DEFAULT), 1e-14);
}

TEST(ErrorBound, SingleConvolutionInF32StaysWithin) {
  std::vector<double> x, w;
  for (int i = 0; i < 40; ++i) x.push_back(static_cast<double>(static_cast<float>(std::sin(3.0 * i * i))));
  for (int i = 0; i < 8; ++i) w.push_back(static_cast<double>(static_cast<float>(std::cos(5.0 * i * i))));
  Node node("conv", {floats({1, 40, 1}, x), floats({8, 1, 1}, w)});
  const Tensor y = node.enumerator("precision", TENON_PRECISION_HIGHEST).run(TENON_F32, {1, 33, 1});
  Tensor device = y;
  for (size_t o = 0; o < 33; ++o) {
    float sum = 0;
    for (size_t t = 0; t < 8; ++t) sum += static_cast<float>(x[o + t]) * static_cast<float>(w[t]);
    device.f[o] = static_cast<double>(sum);
  }
  Tensor rounded = y;
  round_to_dtype(rounded);
  const Tensor tolerance = bound(node.view(), node.operands(), {rounded});
  EXPECT_EQ(mismatch(device, rounded, tolerance), "");
  device.f[5] += 1e-4;
  EXPECT_NE(mismatch(device, rounded, tolerance), "");
}

TEST(ErrorBound, SubnormalsMayFlush) {
  Node neg("neg", {floats({2}, {1e-40, 1})});
  expect_floats(bound_of(neg, TENON_F32, {2}), {std::ldexp(1, -126), 0});
}

TEST(ErrorBound, LongIntegersAreRoundedOnceAsAllNumbersAre) {
  Node node("cast", {ints({2}, {3, (1 << 30) + 1})});
  expect_floats(bound_of(node.dtype("to", TENON_BF16), TENON_BF16, {2}), {0, 0});
}

TEST(ErrorBound, AFactorWidensForChains) {
  Node exp("exp", {floats({1}, {0})});
  expect_floats(bound_of(exp, TENON_F32, {1}, 4), {14 * kEps});
}

TEST(ErrorBound, MismatchNamesTheFirstElementThatIsOff) {
  const Tensor expected = floats({2, 2}, {1, kNaN, kInf, 0}), tolerance = floats({2, 2}, {0.5, 0, 0, 0}, TENON_F64);
  EXPECT_EQ(mismatch(floats({2, 2}, {1.5, kNaN, kInf, -0.0}), expected, tolerance), "");
  EXPECT_EQ(mismatch(floats({2, 2}, {1, 2, kInf, 0}), expected, tolerance), "at [0,1]: found 2, expected nan within 0");
  EXPECT_EQ(mismatch(floats({2, 2}, {1, kNaN, 3e38, 0}), expected, tolerance),
            "at [1,0]: found 3e+38, expected inf within 0");
  EXPECT_EQ(mismatch(ints({1}, {3}), ints({1}, {4}), floats({1}, {0}, TENON_F64)), "at [0]: found 3, expected 4");
}

TEST(ErrorBound, AZeroHasTheSignThatIsAskedFor) {
  const Tensor expected = floats({3}, {0, -0.0, -1e-40}), tolerance = floats({3}, {1, 1, 1e-37}, TENON_F64);
  EXPECT_EQ(mismatch(expected, expected, tolerance, true), "");
  EXPECT_EQ(mismatch(floats({3}, {0.5, -0.0, 0}), expected, tolerance, true), "") << "what is no zero may flush";
  EXPECT_EQ(mismatch(floats({3}, {0, 0, 0}), expected, tolerance, true), "at [1]: found 0, expected -0 within 1");
  EXPECT_EQ(mismatch(floats({3}, {-0.0, -0.0, 0}), expected, tolerance, true), "at [0]: found -0, expected 0 within 1");
}

TEST(ErrorBound, MovementKeepsTheSignsOfZeros) {
  const auto keeps = [](const char* op, int32_t from, int32_t to) {
    plugin::GraphBuilder builder;
    const uint32_t x = builder.input(from, {1}, TENON_ROLE_FEED), y = builder.value(to, {1});
    builder.node(op, {x}, {y});
    const plugin::FlatGraph graph = builder.build();
    return keeps_zero_signs(plugin::GraphView(*graph.graph()).node(0));
  };
  EXPECT_TRUE(keeps("neg", TENON_F32, TENON_F32));
  EXPECT_TRUE(keeps("reverse", TENON_BF16, TENON_BF16));
  EXPECT_TRUE(keeps("cast", TENON_F32, TENON_F16));
  EXPECT_FALSE(keeps("cast", TENON_F32, TENON_I32));
  EXPECT_FALSE(keeps("floor", TENON_F32, TENON_F32));
  EXPECT_FALSE(keeps("max", TENON_F32, TENON_F32));
}

}  // namespace
}  // namespace tenon::reference
