#include "conformance/expected.h"

#include <cmath>

#include "unit/conformance/cases.h"

namespace tenon::conformance {
namespace {

constexpr double kUlpOfOne = 0x1p-23;

TEST(Expected, OneOpHasItsBound) {
  const FlatGraph g = one_op("exp", 1, 2);
  const Expected e = expect_of(*g.graph(), {floats({2}, {0, 1})}, true);
  EXPECT_EQ(e.values[0].f, (std::vector<double>{1, reference::round_to(TENON_F32, std::exp(1.0))}));
  EXPECT_EQ(e.tolerances[0].f[0], 3.5 * kUlpOfOne);      // 3 ulp and the rounding
  EXPECT_EQ(e.tolerances[0].f[1], 3.5 * 2 * kUlpOfOne);  // of a number in [2, 4)
}

TEST(Expected, AGraphOfExactNodesHasNoTolerance) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {3}, TENON_ROLE_STATE), y = b.value(TENON_F32, {3}),
                 z = b.value(TENON_F32, {3});
  b.node("neg", {x}, {y}).name("y");
  b.node("reverse", {y}, {z}).name("z").attr_list("axes", {0});
  b.result(z);
  const FlatGraph g = b.build();
  const Expected e = expect_of(*g.graph(), {floats({3}, {1, 2, 0.25})}, true);
  EXPECT_EQ(e.values[0].f, (std::vector<double>{-0.25, -2, -1}));
  EXPECT_EQ(e.tolerances[0].f, (std::vector<double>{0, 0, 0}));
}

// (x + 1) - 1 keeps of x what the sum keeps.
TEST(Expected, ToleranceFollowsTheConditionOfTheGraph) {
  GraphBuilder b;
  const float one = 1;
  const uint32_t x = b.input(TENON_F32, {1}, TENON_ROLE_STATE), c = b.constant(TENON_F32, {}, &one, 4);
  const uint32_t sum = b.value(TENON_F32, {1}), y = b.value(TENON_F32, {1});
  b.node("add", {x, c}, {sum}).name("sum");
  b.node("sub", {sum, c}, {y}).name("y");
  b.result(y);
  const FlatGraph g = b.build();
  const Expected e = expect_of(*g.graph(), {floats({1}, {0x1p-30})}, true);
  EXPECT_GT(e.tolerances[0].f[0], 0.1 * kUlpOfOne);
  EXPECT_LT(e.tolerances[0].f[0], 16 * kUlpOfOne);
}

// sum of x * x, in floats from left to right.
TEST(Expected, HoldsAnHonestSumAndNoSumThatLacksATerm) {
  constexpr int kN = 1000;
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {kN}, TENON_ROLE_STATE), square = b.value(TENON_F32, {kN}),
                 y = b.value(TENON_F32, {});
  b.node("mul", {x, x}, {square}).name("square");
  b.node("reduce", {square}, {y}).name("y").attr_list("axes", {0}).attr_enum("kind", TENON_REDUCE_SUM);
  b.result(y);
  const FlatGraph g = b.build();
  const Tensor in = make_tensor(TENON_F32, {kN}, uniform_of(5, 0.5, 1));
  const Expected e = expect_of(*g.graph(), {in}, true);
  float sum = 0, without_last = 0;
  for (int i = 0; i < kN; ++i) {
    without_last = sum;
    sum += static_cast<float>(in.f[static_cast<size_t>(i)]) * static_cast<float>(in.f[static_cast<size_t>(i)]);
  }
  EXPECT_NO_THROW(expect_close({floats({}, {sum})}, e));
  EXPECT_THROW(expect_close({floats({}, {without_last})}, e), Failure);
}

// p' = p - lr g, with p the state.
Case descent(uint32_t steps) {
  GraphBuilder b;
  const uint32_t p = b.input(TENON_F32, {2}, TENON_ROLE_STATE), g = b.input(TENON_F32, {2}, TENON_ROLE_FEED);
  const uint32_t lr = b.input(TENON_F32, {}, TENON_ROLE_SCALAR), step = b.value(TENON_F32, {2}),
                 next = b.value(TENON_F32, {2});
  b.node("mul", {g, lr}, {step}).name("step");
  b.node("sub", {p, step}, {next}).name("next");
  b.result(next, TENON_MODE_LAST, 1);
  Case c;
  c.kind = Case::kUpdate;
  c.steps = steps;
  c.lowered = b.build();
  c.inputs = {values_of({1, -1}), values_of({4, 8, 16, 32}), values_of({0.25})};
  c.inputs[1].each_step = true;
  return c;
}

TEST(Expected, StepsCarryTheirStates) {
  const std::vector<Expected> e = expect_steps(descent(3), 1);
  ASSERT_EQ(e.size(), 3u);
  EXPECT_EQ(e[0].values[0].f, (std::vector<double>{0, -3}));    // less 0.25 {4, 8}
  EXPECT_EQ(e[1].values[0].f, (std::vector<double>{-4, -11}));  // less 0.25 {16, 32}
  EXPECT_EQ(e[2].values[0].f, (std::vector<double>{-5, -13}));  // the values begin again
  for (const Expected& step : e) EXPECT_LT(step.tolerances[0].f[1], 1e-4);
}

TEST(Expected, ARunningSumMayBeTakenInAnyOrder) {
  Case c;
  c.lowered = one_op("neg", 1, 2);
  c.inputs = {values_of({1, 3})};
  c.order = 10;
  const Expected e = expect_of(c, inputs_of(c, 1));
  EXPECT_EQ(e.tolerances[0].f, (std::vector<double>{10 * 2 * kUlpOfOne, 10 * 2 * kUlpOfOne}));
}

TEST(Expected, PrecisionLowersTheLicenceOfDots) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {1, 4}, TENON_ROLE_STATE), w = b.input(TENON_F32, {4, 1}, TENON_ROLE_STATE),
                 y = b.value(TENON_F32, {1, 1});
  b.node("dot", {x, w}, {y}).name("y");
  b.result(y);
  Case c;
  c.lowered = b.build();
  c.inputs = {values_of({1}), values_of({1})};
  const double loose = expect_of(c, inputs_of(c, 1), TENON_PRECISION_DEFAULT).tolerances[0].f[0];
  const double tight = expect_of(c, inputs_of(c, 1), TENON_PRECISION_HIGHEST).tolerances[0].f[0];
  EXPECT_GT(loose, 4 * 4 * 0x1p-8);      // 4 2^-8 of sum|a||b|
  EXPECT_LT(tight, 16 * 4 * kUlpOfOne);  // K eps and 4 2^-23 of it
}

TEST(Expected, OtherSeedsGiveOtherNumbersButNotOtherValues) {
  Case c;
  c.lowered = one_op("add", 2, 8);
  c.inputs = {uniform_of(3, -1, 1), values_of({1, 2, 3})};
  const std::vector<Tensor> one = inputs_of(c, 1), two = inputs_of(c, 2);
  EXPECT_EQ(one[0].f, make_tensor(TENON_F32, {8}, c.inputs[0]).f);
  EXPECT_NE(one[0].f, two[0].f);
  EXPECT_EQ(one[1].f, two[1].f);
}

TEST(Expected, NamesTheFirstElementThatIsOff) {
  Expected e;
  e.values = {floats({1}, {1}), floats({2, 2}, {1, 2, 3, 4})};
  e.tolerances = {floats({1}, {0}), floats({2, 2}, {0.5, 0.5, 0.5, 0.5})};
  EXPECT_EQ(failure_of([&] {
              expect_close({floats({1}, {1}), floats({2, 2}, {1, 2.5, 3.75, 9})}, e);
            }),
            "result 2 of 2 at [1,0]: found 3.75, expected 3 within 0.5");
  EXPECT_EQ(failure_of([&] { expect_close({floats({1}, {1})}, e); }), "1 results, expected 2");
}

}  // namespace
}  // namespace tenon::conformance
