// dropout, argmax and cumsum.
#include <cmath>

#include "unit/op/op_testing.h"

namespace tenon::op_testing {
namespace {

Feed i64_scalar(double v) { return of(DType::kI64, {}, {v}); }

Build dropout_of(double rate, bool with_residual = false) {
  return [=](const Tensors& in) {
    return Tensors{dropout(in[0], in[1], in[2], with_residual ? in[3] : Tensor(), rate, 77)};
  };
}

TEST(Dropout, KeepsWhereRandomIsAtLeastTheRateAndScales) {
  const std::vector<Feed> feeds{noise({40}, 1, 1, 2), i64_scalar(5), i64_scalar(9)};
  const Build draws = [](const Tensors& in) { return Tensors{random(in[1], in[2], 77, {40}, true)}; };
  const Doubles u = value(draws, feeds), y = value(dropout_of(0.25), feeds);
  int kept = 0;
  for (int i = 0; i < 40; ++i) {
    kept += u[i] >= 0.25;
    EXPECT_NEAR(y[i], u[i] >= 0.25 ? feeds[0].values[i] / 0.75 : 0, 1e-12);
  }
  EXPECT_GT(kept, 20);
  EXPECT_LT(kept, 40);
}

TEST(Dropout, AddsTheResidualAfterwardsAndIsItsOwnGradient) {
  const std::vector<Feed> feeds{noise({4, 5}, 1), i64_scalar(5), i64_scalar(9), noise({4, 5}, 2)};
  const Doubles plain = value(dropout_of(0.5), feeds), sum = value(dropout_of(0.5, true), feeds);
  for (int i = 0; i < 20; ++i) EXPECT_NEAR(sum[i], plain[i] + feeds[3].values[i], 1e-12);
  expect_gradients(dropout_of(0.5, true), feeds);
}

TEST(Dropout, AtRateZeroIsTheInputAndAtOneNothing) {
  const std::vector<Feed> feeds{f64({3}, {1, kInf, 3}), i64_scalar(5), i64_scalar(9)};
  expect_near(value(dropout_of(0), feeds), {1, kInf, 3});
  expect_near(value(dropout_of(1), feeds), {0, 0, 0});
  EXPECT_EQ(error_of(dropout_of(1.5), {{DType::kF32, {2}}, {DType::kI64, {}}, {DType::kI64, {}}}),
            "dropout 'dropout': rate is 1.5, expected 0 to 1");
}

Build argmax_of(int64_t axis, ReduceKind kind = ReduceKind::kMax) {
  return [=](const Tensors& in) { return Tensors{argmax(in[0], axis, kind)}; };
}

TEST(Argmax, TakesTheLowestIndexOfTies) {
  const Feed x = f64({2, 3}, {1, 7, 7, -2, -5, -5});
  expect_near(value(argmax_of(1), {x}), {1, 0});
  expect_near(value(argmax_of(-1, ReduceKind::kMin), {x}), {0, 1});
  expect_near(value(argmax_of(0), {x}), {0, 0, 0});
  expect_near(value(argmax_of(0), {of(DType::kI32, {3}, {-3, 4, 4})}), {1});
}

TEST(Argmax, TheFirstNanWins) {
  for (ReduceKind kind : {ReduceKind::kMax, ReduceKind::kMin})
    expect_near(value(argmax_of(0, kind), {f64({4}, {kInf, -kInf, kNaN, kNaN})}), {2});
  expect_near(value(argmax_of(0), {f64({3}, {-kInf, -kInf, -kInf})}), {0});
}

TEST(Argmax, TakesNoSum) {
  EXPECT_EQ(error_of(argmax_of(0, ReduceKind::kSum), {{DType::kF32, {3}}}),
            "argmax 'argmax': attribute 'kind' is 0, expected 2 (max) or 3 (min)");
}

Build cumsum_of(int64_t axis, bool exclusive, bool reverse) {
  return [=](const Tensors& in) { return Tensors{cumsum(in[0], axis, exclusive, reverse)}; };
}

TEST(Cumsum, RunsFromEitherEndWithOrWithoutTheElement) {
  const Feed x = of(DType::kI32, {5}, {1, 2, 3, 4, 5});
  expect_near(value(cumsum_of(0, false, false), {x}), {1, 3, 6, 10, 15});
  expect_near(value(cumsum_of(0, true, false), {x}), {0, 1, 3, 6, 10});
  expect_near(value(cumsum_of(0, false, true), {x}), {15, 14, 12, 9, 5});
  expect_near(value(cumsum_of(0, true, true), {x}), {14, 12, 9, 5, 0});
  expect_near(value(cumsum_of(0, true, false), {f64({1}, {3})}), {0});
}

TEST(Cumsum, GradientEqualsDifferencesOnAnyAxis) {
  for (int64_t axis : {0, -1})
    for (bool exclusive : {false, true})
      for (bool reverse : {false, true}) expect_gradients(cumsum_of(axis, exclusive, reverse), {noise({3, 4}, 1)});
}

TEST(Selection, KeepsDtypesThroughLowering) {
  const Build f = [](const Tensors& in) {
    return Tensors{dropout(in[0], in[1], in[1], in[0], 0.5, 3), argmax(in[0]), cumsum(in[0], 0)};
  };
  expect_types_survive_lowering(f, {{DType::kF64, {3, 4}}, {DType::kI64, {}}});
}

}  // namespace
}  // namespace tenon::op_testing
