// Which nodes of a graph cpu.so puts into one of its own.
#include "rewriting_graph.h"

#include <gtest/gtest.h>

namespace tenon::testing {
namespace {

// A convolution of 8 channels and the batch norm behind it.
class Rewriting : public ::testing::Test, protected RewritingGraph {
 protected:
  uint32_t pad(uint32_t x, const Shape& to, double value) {
    const uint32_t y = graph.value(TENON_F32, to);
    graph.node("pad", {x}, {y}).attr_list("low", {0, 1, 2, 0}).attr_list("high", {0, 1, 0, 0});
    graph.attr_list("interior", {0, 0, 0, 0}).attr_f64("value", value);
    return y;
  }
  uint32_t conv(uint32_t x, int act = TENON_ACT_NONE, int32_t dtype = TENON_F32) {
    const uint32_t w = input({1, 1, 8, 8}, dtype), y = graph.value(dtype, kMap);
    graph.node("conv_bias_act", {x, w}, {y}).attr_list("strides", {1, 1}).attr_list("low", {0, 3});
    graph.attr_list("high", {0, 0}).attr_enum("act", act);
    return y;
  }
  uint32_t norm(uint32_t x, uint32_t residual = TENON_NONE, int act = TENON_ACT_RELU, int32_t dtype = TENON_F32) {
    std::vector<uint32_t> operands{x};
    for (int k = 0; k < 4; ++k) operands.push_back(input({8}));
    operands.push_back(residual);
    const uint32_t y = graph.value(dtype, kMap);
    graph.node("batch_norm_apply", operands, {y}).attr_f64("eps", 1e-3).attr_enum("act", act);
    return y;
  }
  void result(uint32_t y) { graph.result(y); }

  const Shape kMap{1, 6, 6, 8};
};

TEST_F(Rewriting, JoinsConvolutionAndNorm) {
  const uint32_t x = input(kMap);
  result(norm(conv(x)));
  EXPECT_EQ(rewritten(), Names{"cpu.conv_norm"});
  EXPECT_EQ(node(0).enumerator("act"), TENON_ACT_RELU);
  EXPECT_FALSE(node(0).has(2));
  EXPECT_FALSE(node(0).has(3));
  EXPECT_EQ(out.origins, std::vector<uint32_t>{0});
}

// The shortcut is computed after the convolution that it is added to.
TEST_F(Rewriting, TakesTheResidualWhereverItIsMade) {
  const uint32_t x = input(kMap), branch = conv(x), shortcut = norm(conv(x), TENON_NONE, TENON_ACT_NONE);
  result(norm(branch, shortcut));
  EXPECT_EQ(rewritten(), (Names{"cpu.conv_norm", "cpu.conv_norm"}));
  EXPECT_EQ(node(1).operand_id(3), node(0).result_id(0));
}

TEST_F(Rewriting, LeavesAResultWithTwoReaders) {
  const uint32_t x = input(kMap), y = conv(x);
  result(norm(y));
  result(norm(y));
  EXPECT_TRUE(stays());
}

TEST_F(Rewriting, LeavesANormOfAValueThatIsItsResidualToo) {
  const uint32_t x = input(kMap), y = conv(x);
  result(norm(y, y));
  EXPECT_TRUE(stays());
}

TEST_F(Rewriting, LeavesWhatTheGraphReturns) {
  const uint32_t x = input(kMap), y = conv(x);
  result(y);
  result(norm(y));
  EXPECT_TRUE(stays());
}

TEST_F(Rewriting, LeavesAnActivationBetween) {
  const uint32_t x = input(kMap);
  result(norm(conv(x, TENON_ACT_RELU)));
  EXPECT_TRUE(stays());
}

TEST_F(Rewriting, JoinsConvolutionAndNormOfBf16) {
  const uint32_t x = input(kMap, TENON_BF16), residual = input(kMap, TENON_BF16);
  result(norm(conv(x, TENON_ACT_NONE, TENON_BF16), residual, TENON_ACT_RELU, TENON_BF16));
  EXPECT_EQ(rewritten(), Names{"cpu.conv_norm"});
  EXPECT_EQ(node(0).operand_id(3), residual);
}

TEST_F(Rewriting, LeavesOtherDtypes) {
  const uint32_t x = input(kMap, TENON_BF16);
  result(norm(conv(x, TENON_ACT_NONE, TENON_BF16)));
  result(norm(conv(x, TENON_ACT_NONE, TENON_BF16), input(kMap), TENON_ACT_RELU, TENON_BF16));
  EXPECT_TRUE(stays());
}

// The norm's loops over bf16 clip, and no more.
TEST_F(Rewriting, LeavesOtherActivationsOfBf16) {
  const uint32_t x = input(kMap, TENON_BF16);
  result(norm(conv(x, TENON_ACT_NONE, TENON_BF16), TENON_NONE, TENON_ACT_SILU, TENON_BF16));
  EXPECT_TRUE(stays());
}

TEST_F(Rewriting, PadsInTheConvolution) {
  const uint32_t x = input({1, 4, 1, 8});
  result(norm(conv(pad(x, {1, 6, 3, 8}, 0))));
  EXPECT_EQ(rewritten(), Names{"cpu.conv_norm"});
  EXPECT_EQ(node(0).list("low").vec(), (Shape{1, 5}));
  EXPECT_EQ(node(0).list("high").vec(), (Shape{1, 0}));
  EXPECT_EQ(out.origins, std::vector<uint32_t>{1});
}

TEST_F(Rewriting, LeavesPadsOfOtherValuesAndReaders) {
  const uint32_t x = input({1, 4, 1, 8});
  result(conv(pad(x, {1, 6, 3, 8}, 1)));
  const uint32_t padded = pad(x, {1, 6, 3, 8}, 0);
  result(conv(padded));
  result(padded);
  EXPECT_TRUE(stays());
}

// The gradient of the filter reads the padded image too, and that of the pad is a slice of the input's gradient.
TEST_F(Rewriting, PadsInTheConvolutionAndItsGradients) {
  const uint32_t x = input({1, 4, 1, 8}), dy = input(kMap), w = input({1, 1, 8, 8});
  const uint32_t padded = pad(x, {1, 6, 3, 8}, 0), dw = graph.value(TENON_F32, {1, 1, 8, 8});
  result(conv(padded));
  graph.node("conv_grad_filter", {padded, dy}, {dw}).attr_list("size", {1, 1}).attr_list("low", {0, 3});
  graph.attr_list("high", {0, 0});
  result(dw);
  const uint32_t whole = graph.value(TENON_F32, {1, 6, 3, 8}), dx = graph.value(TENON_F32, {1, 4, 1, 8});
  graph.node("conv_grad_input", {dy, w}, {whole}).attr_list("size", {6, 3}).attr_list("low", {0, 3});
  graph.attr_list("high", {0, 0});
  graph.node("slice", {whole}, {dx}).attr_list("start", {0, 1, 2, 0}).attr_list("limit", {1, 5, 3, 8});
  graph.attr_list("stride", {1, 1, 1, 1});
  result(dx);
  EXPECT_EQ(rewritten(), (Names{"conv_bias_act", "conv_grad_filter", "conv_grad_input"}));
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(node(i).list("low").vec(), (Shape{1, 5})) << i;
    EXPECT_EQ(node(i).list("high").vec(), (Shape{1, 0})) << i;
  }
  EXPECT_EQ(node(1).list("size").vec(), (Shape{1, 1}));
  EXPECT_EQ(node(2).list("size").vec(), (Shape{4, 1}));
}
TEST_F(Rewriting, PadsInAPoolOfWhatIsNotBelowZero) {
  const uint32_t x = input(kMap);
  for (int act : {TENON_ACT_RELU, TENON_ACT_NONE}) {
    const uint32_t padded = pad(norm(conv(x), TENON_NONE, act), {1, 8, 8, 8}, 0),
                   y = graph.value(TENON_F32, {1, 6, 6, 8});
    graph.node("max_pool", {padded}, {y}).attr_list("window", {3, 3}).attr_list("strides", {1, 1});
    graph.attr_list("low", {0, 0}).attr_list("high", {0, 0});
    result(y);
  }
  EXPECT_EQ(rewritten(), (Names{"cpu.conv_norm", "max_pool", "cpu.conv_norm", "pad", "max_pool"}));
  EXPECT_EQ(node(1).list("low").vec(), (Shape{1, 2}));
}

// A convolution's gradient, the gradient of the batch norm before it, and that of the bias before both.
class RewritingGradients : public Rewriting {
 protected:
  // w_dtype: of the filter, else all that has points is of dtype.
  uint32_t norm_grad(int32_t dtype = TENON_F32, int32_t w_dtype = TENON_F32) {
    const uint32_t d = graph.value(dtype, kMap), dy = input(kMap, dtype), w = input({1, 1, 8, 8}, w_dtype);
    graph.node("conv_grad_input", {dy, w}, {d}).attr_list("strides", {1, 1}).attr_list("low", {0, 0});
    graph.attr_list("high", {0, 0});
    std::vector<uint32_t> operands{d, input(kMap, dtype), input({8}), input({8}), input({8})},
        results{graph.value(dtype, kMap)};
    for (int k = 0; k < 2; ++k) results.push_back(graph.value(TENON_F32, {8}));
    graph.node("batch_norm_grad", operands, results).attr_f64("eps", 1e-3);
    for (const uint32_t r : results) result(r);
    return results[0];
  }
  uint32_t reduce(uint32_t x, const Shape& axes, const Shape& to, int kind = TENON_REDUCE_SUM) {
    const uint32_t y = graph.value(TENON_F32, to);
    graph.node("reduce", {x}, {y}).attr_list("axes", axes).attr_enum("kind", kind);
    result(y);
    return y;
  }
};

TEST_F(RewritingGradients, SumTheBiassGradientOnTheWay) {
  reduce(norm_grad(), {0, 1, 2}, {8});
  EXPECT_EQ(rewritten(), Names{"cpu.batch_norm.grad_input"});
  EXPECT_EQ(node(0).results(), 5);
  EXPECT_FALSE(node(0).has_result(3));
  EXPECT_TRUE(node(0).has_result(4));
}

TEST_F(RewritingGradients, AreOneNodeOfBf16Too) {
  norm_grad(TENON_BF16, TENON_BF16);
  EXPECT_EQ(rewritten(), Names{"cpu.batch_norm.grad_input"});
}

TEST_F(RewritingGradients, StayApartWhereDtypesMeet) {
  norm_grad(TENON_BF16, TENON_F32);
  EXPECT_TRUE(stays());
}

TEST_F(RewritingGradients, LeaveOtherReduces) {
  const uint32_t dx = norm_grad();
  reduce(dx, {0, 1, 2}, {8}, TENON_REDUCE_MAX);
  reduce(dx, {0, 2, 3}, {6});
  EXPECT_EQ(rewritten(), (Names{"cpu.batch_norm.grad_input", "reduce", "reduce"}));
}

}  // namespace
}  // namespace tenon::testing
