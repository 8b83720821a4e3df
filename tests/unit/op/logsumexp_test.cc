// logsumexp against hand calculations and scipy.special.logsumexp's documentation.
#include <cmath>

#include "unit/op/op_testing.h"

namespace tenon::op_testing {
namespace {

Build sums_over(const Ints& axes, bool keepdims = false) {
  return [=](const Tensors& in) { return Tensors{logsumexp(in[0], axes, keepdims)}; };
}
Build gradient_over(const Ints& axes) {
  return [=](const Tensors& in) { return gradients(reduce_sum(logsumexp(in[0], axes)), {in[0]}); };
}

const double kLn2 = std::log(2.0);

TEST(Logsumexp, OfAllElements) {
  expect_near(value(sums_over({}), {f64({10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})}),
              {9.4586297444267107});  // SciPy's example
  expect_near(value(sums_over({}), {f64({2, 2}, {0, 0, 0, 0})}), {2 * kLn2});
  expect_near(value(sums_over({}), {f64({}, {-3})}), {-3});
}

TEST(Logsumexp, OfAnyAxes) {
  const Feed x = f64({2, 1, 2}, {0, 0, std::log(3.0), 0});
  expect_near(value(sums_over({2}), {x}), {kLn2, 2 * kLn2});
  expect_near(value(sums_over({-3}), {x}), {2 * kLn2, kLn2});
  expect_near(value(sums_over({2, 0}), {x}), {std::log(6.0)});
  expect_near(value(sums_over({1}), {x}), x.values);
}

TEST(Logsumexp, KeepsAxesOfSizeOneWhereAsked) {
  const std::vector<Feed> x{noise({2, 3, 4}, 1)};
  EXPECT_EQ(evaluate(sums_over({1}), x)[0].type.shape, (Shape{2, 4}));
  EXPECT_EQ(evaluate(sums_over({1}, true), x)[0].type.shape, (Shape{2, 1, 4}));
  EXPECT_EQ(evaluate(sums_over({}, true), x)[0].type.shape, (Shape{1, 1, 1}));
}

TEST(Logsumexp, TakesTheLargestOut) {
  for (double far : {1e5, -1e5}) expect_near(value(sums_over({0}), {f64({2}, {far, far})}), {far + kLn2});
  expect_near(value(sums_over({0}), {f64({3}, {1e300, -1e300, -kInf})}), {1e300});
}

TEST(Logsumexp, OfInfinitiesAndNaN) {
  const Feed x = f64({5, 3}, {-kInf, -kInf, -kInf, -kInf, 2, -kInf, kInf, 0, -kInf, kInf, kInf, 1, kInf, kNaN, -kInf});
  expect_near(value(sums_over({1}), {x}), {-kInf, 2, kInf, kInf, kNaN});
}

TEST(Logsumexp, GradientIsSoftmax) {
  const Doubles softmax_of_123{0.09003057317038046, 0.24472847105479767, 0.6652409557748219};
  expect_near(value(gradient_over({0}), {f64({3}, {1, 2, 3})}), softmax_of_123);
  for (const Ints& axes : {Ints{0}, Ints{-1}, Ints{0, 2}, Ints{}})
    expect_gradients(sums_over(axes), {noise({2, 3, 2}, 1)});
}

// The bf16 next to 300 + ln 2 is 300: exp(x - 300) would be 1.
TEST(Logsumexp, GradientOfNarrowElementsIsThatOfTheirValues) {
  for (DType dtype : {DType::kBF16, DType::kF16})
    expect_near(rounded_value(gradient_over({0}), {of(dtype, {2}, {300, 300})}), {0.5, 0.5}, 1e-3);
}

TEST(Logsumexp, GradientIsZeroWhereAllAreMinusInfinity) {
  const Feed x = f64({2, 2}, {-kInf, -kInf, -kInf, 7});
  expect_near(value(gradient_over({1}), {x}), {0, 0, 0, 1});
}

TEST(Logsumexp, NamesAnAxisOutOfRange) {
  EXPECT_EQ(error_of(sums_over({2}), {{DType::kF32, {2, 3}}}), "logsumexp: axis 2 is out of range for f32[2,3]");
}

TEST(Logsumexp, TypesSurviveLowering) { expect_types_survive_lowering(sums_over({1}), {{DType::kF64, {2, 3}}}); }

}  // namespace
}  // namespace tenon::op_testing
