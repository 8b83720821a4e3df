// Products that widen a map, each with the depthwise convolution behind it, as one node.
#include "rewriting_graph.h"

#include <gtest/gtest.h>

#include "own_nodes.h"

namespace tenon::testing {
namespace {

using fused_op = cpu::own::expand_depthwise;

class RewritingExpansions : public ::testing::Test, protected RewritingGraph {
 protected:
  // A convolution that keeps the map's size, of `filters` channels of groups of `group`.
  uint32_t conv(uint32_t x, const Shape& map, int64_t kernel, int64_t groups, int64_t filters, int32_t act,
                int32_t dtype = TENON_F32, int64_t stride = 1) {
    const int64_t low = (kernel - 1) / 2, pads = kernel - 1;
    const auto size = [&](int64_t n) { return (n + pads - kernel) / stride + 1; };
    last_ = {map[0], size(map[1]), size(map[2]), filters};
    const uint32_t y = graph.value(dtype, last_), w = input({kernel, kernel, map[3] / groups, filters}, dtype);
    graph.node("conv_bias_act", {x, w, input({filters}, dtype)}, {y})
        .attr_list("strides", {stride, stride})
        .attr_list("low", {low, low})
        .attr_list("high", {pads - low, pads - low})
        .attr_list("dilation", {1, 1})
        .attr_i64("groups", groups)
        .attr_dtype("out", dtype)
        .attr_enum("act", act)
        .attr_f64("alpha", 0);
    return y;
  }
  uint32_t norm(uint32_t x, const Shape& map) {
    const uint32_t y = graph.value(TENON_F32, map);
    std::vector<uint32_t> operands{x};
    for (int k = 0; k < 4; ++k) operands.push_back(input({map.back()}));
    graph.node("batch_norm_apply", operands, {y}).attr_f64("eps", 0.25).attr_enum("act", TENON_ACT_RELU6);
    return y;
  }
  uint32_t expanded(const Shape& map = kMap, int32_t dtype = TENON_F32) {
    return conv(input(map, dtype), map, 1, 1, 6 * map[3], TENON_ACT_RELU6, dtype);
  }
  uint32_t depthwise(uint32_t x, int32_t dtype = TENON_F32) {
    return conv(x, Shape(last_), 3, last_[3], last_[3], TENON_ACT_RELU, dtype, 2);
  }

  static const Shape kMap;
  Shape last_;  // of the last convolution's result
};
const Shape RewritingExpansions::kMap{2, 14, 14, 8};
const Names kFused{"cpu.expand_depthwise"};
const Names kApart{"conv_bias_act", "conv_bias_act"};

TEST_F(RewritingExpansions, TheDepthwiseConvolutionTakesWhatWidensItsMap) {
  graph.result(depthwise(expanded()));
  ASSERT_EQ(rewritten(), kFused);
  EXPECT_EQ(node(0).enumerator("act"), TENON_ACT_RELU);
  EXPECT_EQ(node(0).enumerator("expand_act"), TENON_ACT_RELU6);
  EXPECT_EQ(node(0).i64("groups"), 48);
  EXPECT_EQ(node(0).list("strides")[0], 2);
  EXPECT_EQ(node(0).in(fused_op::x).dim(-1), 8);
  EXPECT_EQ(node(0).in(fused_op::w).dim(0), 3);
  EXPECT_EQ(node(0).in(fused_op::expand_w).dim(0), 1);
  EXPECT_TRUE(node(0).has(fused_op::bias) && node(0).has(fused_op::expand_bias));
  EXPECT_FALSE(node(0).has(fused_op::gamma) || node(0).has(fused_op::expand_gamma));
}

TEST_F(RewritingExpansions, AndTheNormsBehindBoth) {
  const uint32_t wide = conv(input(kMap), kMap, 1, 1, 48, TENON_ACT_NONE);
  const uint32_t map = norm(wide, Shape(last_)), y = conv(map, Shape(last_), 5, 48, 48, TENON_ACT_NONE);
  graph.result(norm(y, Shape(last_)));
  ASSERT_EQ(rewritten(), kFused);
  EXPECT_TRUE(node(0).has(fused_op::var) && node(0).has(fused_op::expand_var));
  EXPECT_EQ(node(0).f64("eps"), 0.25);
  EXPECT_EQ(node(0).f64("expand_eps"), 0.25);
  EXPECT_EQ(node(0).enumerator("act"), TENON_ACT_RELU6);
}

TEST_F(RewritingExpansions, LeavesMapsThatOthersRead) {
  const uint32_t wide = expanded();
  graph.result(depthwise(wide));
  graph.result(wide);
  EXPECT_EQ(rewritten(), kApart);
}

TEST_F(RewritingExpansions, LeavesOneThatTwoDepthwiseConvolutionsRead) {
  const uint32_t wide = expanded();
  const Shape map = last_;
  for (int k = 0; k < 2; ++k) graph.result(conv(wide, map, 3, map[3], map[3], TENON_ACT_RELU));
  EXPECT_EQ(rewritten(), (Names{"conv_bias_act", "conv_bias_act", "conv_bias_act"}));
}

TEST_F(RewritingExpansions, LeavesSmallMaps) {
  graph.result(depthwise(expanded({32, 7, 7, 160})));
  EXPECT_EQ(rewritten(), kApart);
}

TEST_F(RewritingExpansions, LeavesBf16) {
  graph.result(depthwise(expanded(kMap, TENON_BF16), TENON_BF16));
  EXPECT_EQ(rewritten(), kApart);
}

// Whole groups, more filters than channels, and neighbours in front of the map.
TEST_F(RewritingExpansions, LeavesOtherConvolutions) {
  const uint32_t grouped = expanded();
  graph.result(conv(grouped, Shape(last_), 3, 6, 48, TENON_ACT_RELU));
  const uint32_t many = expanded();
  graph.result(conv(many, Shape(last_), 3, 48, 96, TENON_ACT_RELU));
  const uint32_t around = conv(input(kMap), kMap, 3, 1, 48, TENON_ACT_RELU);
  graph.result(depthwise(around));
  const uint32_t strided = conv(input({2, 28, 28, 8}), {2, 28, 28, 8}, 1, 1, 48, TENON_ACT_RELU, TENON_F32, 2);
  graph.result(depthwise(strided));
  EXPECT_EQ(rewritten(), Names(8, "conv_bias_act"));
}

}  // namespace
}  // namespace tenon::testing
