// Residuals and activations that are nodes of their own behind convolutions, products and norms.
#include "rewriting_graph.h"

#include <gtest/gtest.h>

#include "tenon/op/names.h"

namespace tenon::testing {
namespace {

class RewritingEpilogues : public ::testing::Test, protected RewritingGraph {
 protected:
  uint32_t conv(int32_t dtype = TENON_F32, bool bias = true) {
    const uint32_t y = graph.value(dtype, kMap), x = input(kMap, dtype), w = input({1, 1, 8, 8}, dtype);
    const Shape ones{1, 1}, zeros{0, 0};
    GraphBuilder& node =
        bias ? graph.node("conv_bias_act", {x, w, input({8}, dtype)}, {y}) : graph.node("conv", {x, w}, {y});
    node.attr_list("strides", ones).attr_list("low", zeros).attr_list("high", zeros).attr_list("dilation", ones);
    node.attr_i64("groups", 1).attr_dtype("out", dtype);
    if (bias) node.attr_enum("act", TENON_ACT_NONE).attr_f64("alpha", 0);
    return y;
  }
  uint32_t dot() {
    const uint32_t y = graph.value(TENON_F32, {72, 8});
    graph.node("dot_bias_act", {input({72, 4}), input({4, 8}), input({8})}, {y}).attr_enum("act", TENON_ACT_NONE);
    return y;
  }
  uint32_t norm() {
    const uint32_t y = graph.value(TENON_F32, kMap);
    std::vector<uint32_t> operands{input(kMap)};
    for (int k = 0; k < 4; ++k) operands.push_back(input({8}));
    graph.node("batch_norm_apply", operands, {y}).attr_f64("eps", 1e-3).attr_enum("act", TENON_ACT_NONE);
    return y;
  }
  uint32_t act(uint32_t x, int act, int32_t dtype = TENON_F32, const Shape& dims = kMap) {
    const uint32_t y = graph.value(dtype, dims);
    graph.node("activation", {x}, {y}).attr_enum("act", act).attr_f64("alpha", 0.25);
    return y;
  }
  uint32_t sum(uint32_t a, uint32_t b) {
    const uint32_t y = graph.value(TENON_F32, kMap);
    graph.node("add", {a, b}, {y});
    return y;
  }

  static const Shape kMap;
};
const Shape RewritingEpilogues::kMap{2, 6, 6, 8};

TEST_F(RewritingEpilogues, AConvolutionTakesItsActivation) {
  for (const bool bias : {true, false}) {
    graph = GraphBuilder();
    const uint32_t y = act(conv(TENON_F32, bias), TENON_ACT_LEAKY_RELU);
    graph.result(y);
    ASSERT_EQ(rewritten(), Names{"conv_bias_act"});
    EXPECT_EQ(node(0).enumerator("act"), TENON_ACT_LEAKY_RELU);
    EXPECT_EQ(node(0).f64("alpha"), 0.25);
    EXPECT_EQ(node(0).has(op::conv_bias_act::bias), bias);
    EXPECT_FALSE(node(0).has(op::conv_bias_act::residual));
    EXPECT_EQ(node(0).i64("groups"), 1);
  }
}

TEST_F(RewritingEpilogues, AConvolutionTakesWhatIsAddedAndTheActivationOfTheSum) {
  const uint32_t x = input(kMap), y = act(sum(x, conv()), TENON_ACT_RELU);
  graph.result(y);
  ASSERT_EQ(rewritten(), Names{"conv_bias_act"});
  EXPECT_EQ(node(0).operand_id(op::conv_bias_act::residual), x);
  EXPECT_EQ(node(0).enumerator("act"), TENON_ACT_RELU);
}

TEST_F(RewritingEpilogues, OfTwoConvolutionsTheLaterOneTakesTheSum) {
  const uint32_t first = conv(), second = conv();
  graph.result(sum(first, second));
  ASSERT_EQ(rewritten(), (Names{"conv_bias_act", "conv_bias_act"}));
  EXPECT_FALSE(node(0).has(op::conv_bias_act::residual));
  EXPECT_EQ(node(1).operand_id(op::conv_bias_act::residual), node(0).result_id(0));
  EXPECT_EQ(node(1).enumerator("act"), TENON_ACT_NONE);
}

// What is doubled is no residual, and a sum that others read has no activation.
TEST_F(RewritingEpilogues, LeavesWhatOthersRead) {
  const uint32_t z = conv();
  graph.result(sum(z, z));
  graph.result(act(conv(), TENON_ACT_RELU));
  const uint32_t seen = conv();
  graph.result(seen);
  graph.result(act(seen, TENON_ACT_RELU));
  EXPECT_EQ(rewritten(), (Names{"conv_bias_act", "add", "conv_bias_act", "conv_bias_act", "activation"}));
}

// The sum is rounded before it is activated.
TEST_F(RewritingEpilogues, LeavesBf16) {
  graph.result(act(conv(TENON_BF16), TENON_ACT_RELU, TENON_BF16));
  EXPECT_EQ(rewritten(), (Names{"conv_bias_act", "activation"}));
}

TEST_F(RewritingEpilogues, AProductTakesItsActivationThroughAReshape) {
  const uint32_t wide = graph.value(TENON_F32, kMap);
  graph.node("reshape", {dot()}, {wide}).attr_list("shape", kMap);
  graph.result(act(wide, TENON_ACT_GELU));
  ASSERT_EQ(rewritten(), Names{"dot_bias_act"});
  EXPECT_EQ(node(0).enumerator("act"), TENON_ACT_GELU);
  EXPECT_EQ(node(0).out(0).rank(), 4);
}

TEST_F(RewritingEpilogues, ANormTakesWhatIsAddedAndTheActivationOfTheSum) {
  const uint32_t x = input(kMap);
  graph.result(act(sum(norm(), x), TENON_ACT_RELU6));
  ASSERT_EQ(rewritten(), Names{"batch_norm_apply"});
  EXPECT_EQ(node(0).operand_id(op::batch_norm_apply::residual), x);
  EXPECT_EQ(node(0).enumerator("act"), TENON_ACT_RELU6);
  EXPECT_EQ(node(0).f64("eps"), 1e-3);
}

// The norm stands where it stood: what is added has to be there.
TEST_F(RewritingEpilogues, ANormTakesNothingThatIsComputedLater) {
  const uint32_t y = norm(), later = act(input(kMap), TENON_ACT_TANH);
  graph.result(sum(y, later));
  EXPECT_EQ(rewritten(), (Names{"batch_norm_apply", "activation", "add"}));
}

}  // namespace
}  // namespace tenon::testing
