// What weights are kept to after their updates, and penalties on them.
#include "tenon/constraints.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/layers.h"
#include "tenon/optimizers.h"
#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using model_testing::error_of;
using model_testing::feed;
using model_testing::Numbers;
using model_testing::Session;

// A kernel [2, 3] of these numbers after one step of SGD whose gradient is 0: what the constraint alone does.
Numbers kept(const Constraint& constraint, const std::vector<float>& kernel) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 2});
  const Tensor y = dense(x, {.units = 3,
                             .use_bias = false,
                             .kernel_initializer = values_initializer(kernel),
                             .kernel_constraint = constraint});
  minimize(SGD(1.0), reduce_sum(y));
  Session session(graph, {y});
  session.run({{"x", {0, 0}}});
  return session.state("dense/kernel");
}

const std::vector<float> kKernel{3, 0, -1, 4, 0, 1};  // columns of norms 5, 0 and sqrt 2

TEST(Constraints, MaxNormShrinksWhatIsLonger) {
  golden::expect_near(kept(MaxNorm(), kKernel), {1.2, 0, -1, 1.6, 0, 1}, 1e-6);
  golden::expect_near(kept(MaxNorm({.max_value = 1, .axis = {1}}), {3, 0, 4, 0.1f, 0.2f, 0.2f}),
                      {0.6, 0, 0.8, 0.1, 0.2, 0.2}, 1e-6);
}

TEST(Constraints, NonNegKeepsWhatIsAboveZero) { EXPECT_EQ(kept(NonNeg(), kKernel), (Numbers{3, 0, 0, 4, 0, 1})); }

TEST(Constraints, UnitNormScalesToOne) {
  const double half = std::sqrt(0.5);
  golden::expect_near(kept(UnitNorm(), kKernel), {0.6, 0, -half, 0.8, 0, half}, 1e-6);
}

TEST(Constraints, MinMaxNormMovesByItsRate) {
  // Norm 5 to 2 + 0.5 (5 - 2), norm sqrt 2 stays.
  golden::expect_near(kept(MinMaxNorm({.min_value = 1, .max_value = 2, .rate = 0.5}), kKernel), {2.1, 0, -1, 2.8, 0, 1},
                      1e-6);
}

TEST(Constraints, AreAppliedAfterTheUpdate) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 1});
  const Tensor y = dense(x, {.units = 1,
                             .kernel_initializer = values_initializer({0.5}),
                             .bias_initializer = values_initializer({0.5}),
                             .kernel_constraint = NonNeg()});
  minimize(SGD(1.0), reduce_sum(y));
  Session session(graph, {y});
  session.run({{"x", {2}}});
  EXPECT_EQ(session.state("dense/kernel"), Numbers{0});
  EXPECT_EQ(session.state("dense/bias"), Numbers{-0.5});
}

TEST(Constraints, MayBeOnesOwn) {
  EXPECT_EQ(kept({[](Tensor w) { return clamp(w, -0.5, 2); }}, kKernel), (Numbers{2, 0, -0.5, 2, 0, 1}));
  EXPECT_EQ(error_of([] { kept({[](Tensor w) { return reduce_sum(w); }}, kKernel); }),
            "the constraint of 'dense/kernel' gives f32[], expected f32[2,3]");
}

TEST(Constraints, SayWhatIsWrong) {
  EXPECT_EQ(error_of([] { MinMaxNorm({.rate = 2}); }), "min_max_norm: rate is 2, expected 0 to 1");
}

TEST(Regularizers, HaveKerasDefaults) {
  EXPECT_EQ(L1().l1, 0.01);
  EXPECT_EQ(L2().l2, 0.01);
  EXPECT_EQ(L1L2().l1 + L1L2().l2, 0);
  EXPECT_EQ(L1(0.5).l2 + L2(0.5).l1, 0);
}

}  // namespace
}  // namespace tenon
