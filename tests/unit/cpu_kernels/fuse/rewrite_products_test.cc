// Which products cpu.so joins with the dropout or the addition behind them, and which gradients.
#include "rewriting_graph.h"

#include <gtest/gtest.h>

namespace tenon::testing {
namespace {

// A dense layer of [6, 5] inputs, what stands behind it, and their gradients.
struct LayerGraph : RewritingGraph {
  uint32_t seed = graph.input(TENON_I64, {}, TENON_ROLE_FEED), step = graph.input(TENON_I64, {}, TENON_ROLE_FEED);
  int64_t units = 8;
  double rate = 0.25;

  uint32_t dense(int act = TENON_ACT_RELU, int32_t dtype = TENON_F32, uint32_t residual = TENON_NONE) {
    const uint32_t y = graph.value(dtype, {6, units});
    graph.node("dot_bias_act", {input({6, 5}, dtype), input({5, units}, dtype), input({units}, dtype), residual}, {y});
    graph.attr_bool("ta", false).attr_bool("tb", false).attr_enum("act", act).attr_dtype("out", dtype);
    return y;
  }
  uint32_t reshape(uint32_t x, const Shape& to) {
    const uint32_t y = graph.value(TENON_F32, to);
    graph.node("reshape", {x}, {y}).attr_list("shape", to);
    return y;
  }
  uint32_t dropout(uint32_t x, const Shape& dims, uint32_t residual = TENON_NONE, int64_t stream = 7,
                   int32_t dtype = TENON_F32, int64_t first = 0) {
    const uint32_t y = graph.value(dtype, dims);
    graph.node("dropout", {x, seed, step, residual}, {y}).attr_f64("rate", rate).attr_i64("stream", stream);
    graph.attr_i64("first", first);
    return y;
  }
  void relu_grad(uint32_t dy, uint32_t y, int act = TENON_ACT_RELU) {
    const uint32_t dz = graph.value(TENON_F32, {6, units}), dbias = graph.value(TENON_F32, {units});
    graph.node("bias_act_grad", {dy, y}, {dz, dbias}).attr_enum("act", act).attr_f64("alpha", 0);
    graph.result(dz), graph.result(dbias);
  }
};

TEST(RewritingDropout, JoinsAProductAndWhatDropsOfIt) {
  LayerGraph d;
  const uint32_t residual = d.input({2, 3, 8});
  d.graph.result(d.dropout(d.reshape(d.dense(TENON_ACT_GELU), {2, 3, 8}), {2, 3, 8}, residual));
  EXPECT_EQ(d.rewritten(), Names{"cpu.dot_dropout"});
  const plugin::NodeView node = d.node(0);
  EXPECT_EQ(node.operand_id(3), d.seed);
  EXPECT_EQ(node.operand_id(5), residual);
  EXPECT_EQ(node.enumerator("act"), TENON_ACT_GELU);
  EXPECT_EQ(node.i64("stream"), 7);
  EXPECT_EQ(node.f64("rate"), 0.25);
}

TEST(RewritingDropout, JoinsAProductOfBf16) {
  LayerGraph d;
  d.graph.result(d.dropout(d.dense(TENON_ACT_RELU, TENON_BF16), {6, 8}, TENON_NONE, 7, TENON_BF16));
  EXPECT_EQ(d.rewritten(), Names{"cpu.dot_dropout"});
}

TEST(RewritingDropout, DrawsNothingBehindAReluForTheGradient) {
  for (bool shaped : {false, true}) {
    LayerGraph d;
    const Shape dims = shaped ? Shape{2, 3, 8} : Shape{6, 8};
    const uint32_t y = d.dense();
    d.graph.result(d.dropout(shaped ? d.reshape(y, dims) : y, dims));
    const uint32_t g = d.dropout(d.input(dims), dims);
    d.relu_grad(shaped ? d.reshape(g, {6, 8}) : g, y);
    EXPECT_EQ(d.rewritten(), (Names{"cpu.dot_dropout", "cpu.dropout_relu_grad"}));
  }
}

TEST(RewritingDropout, JoinsAGradientsProductWithItsDropout) {
  LayerGraph d;
  const uint32_t dx = d.graph.value(TENON_F32, {6, 8});
  d.graph.node("dot", {d.input({6, 4}), d.input({8, 4})}, {dx}).attr_bool("ta", false).attr_bool("tb", true);
  d.graph.result(d.dropout(dx, {6, 8}));
  EXPECT_EQ(d.rewritten(), Names{"cpu.dot_dropout"});
}

// What the gradient needs of the forward pass is not in what dropout gave.
TEST(RewritingDropout, LeavesGradientsThatDoNotFollow) {
  const Names apart{"dot_bias_act", "dropout", "dropout", "bias_act_grad"};
  const auto names = [](int act, int64_t stream, double rate, bool residual, int64_t first = 0) {
    LayerGraph d;
    d.rate = rate;
    const uint32_t y = d.dense(act);
    d.graph.result(d.dropout(y, {6, 8}, residual ? d.input({6, 8}) : TENON_NONE));
    d.relu_grad(d.dropout(d.input({6, 8}), {6, 8}, TENON_NONE, stream, TENON_F32, first), y, act);
    return d.rewritten();
  };
  EXPECT_EQ(names(TENON_ACT_RELU6, 7, 0.25, false), apart);
  EXPECT_EQ(names(TENON_ACT_RELU, 8, 0.25, false), apart);
  EXPECT_EQ(names(TENON_ACT_RELU, 7, 1, false), apart);
  EXPECT_EQ(names(TENON_ACT_RELU, 7, 0.25, true), apart);
  EXPECT_EQ(names(TENON_ACT_RELU, 7, 0.25, false, 1), apart);
  EXPECT_EQ(names(TENON_ACT_RELU, 7, 0.25, false), (Names{"cpu.dot_dropout", "cpu.dropout_relu_grad"}));
}

// Other orders, other shapes, and values that are two things at once.
TEST(RewritingDropout, LeavesWhatItWouldReadTooEarlyOrTwice) {
  {
    LayerGraph d;
    const uint32_t y = d.dense();
    d.graph.result(d.dropout(y, {6, 8}, y));
    EXPECT_EQ(d.rewritten(), (Names{"dot_bias_act", "dropout"}));
  }
  {
    LayerGraph d;
    const uint32_t y = d.dense();
    d.relu_grad(d.dropout(y, {6, 8}), y);
    EXPECT_EQ(d.rewritten(), (Names{"dot_bias_act", "dropout", "bias_act_grad"}));
  }
  {
    LayerGraph d;
    const uint32_t y = d.dense();
    d.relu_grad(d.dropout(d.input({6, 8}), {6, 8}), y);
    d.graph.result(d.dropout(y, {6, 8}));
    EXPECT_EQ(d.rewritten(), (Names{"dot_bias_act", "dropout", "bias_act_grad", "dropout"}));
  }
  {
    LayerGraph d;
    const uint32_t y = d.dense();
    d.graph.result(d.dropout(y, {6, 8}));
    d.relu_grad(d.reshape(d.dropout(d.input({48}), {48}), {6, 8}), y);
    EXPECT_EQ(d.rewritten(), (Names{"dot_bias_act", "dropout", "dropout", "reshape", "bias_act_grad"}));
  }
}

TEST(RewritingDropout, LeavesAGradientThatIsReadElsewhere) {
  LayerGraph d;
  const uint32_t y = d.dense(), g = (d.graph.result(d.dropout(y, {6, 8})), d.dropout(d.input({6, 8}), {6, 8}));
  d.relu_grad(g, y);
  d.graph.result(g);
  EXPECT_EQ(d.rewritten(), (Names{"dot_bias_act", "dropout", "dropout", "bias_act_grad"}));
}

TEST(RewritingDropout, LeavesWhatOthersReadAndWhatItHasNoKernelFor) {
  const Names apart{"dot_bias_act", "dropout"};
  {
    LayerGraph d;
    const uint32_t y = d.dense();
    d.graph.result(y);
    d.graph.result(d.dropout(y, {6, 8}));
    EXPECT_EQ(d.rewritten(), apart);
  }
  {
    LayerGraph d;
    d.units = 6;  // a row does not end where a counter does
    d.graph.result(d.dropout(d.dense(), {6, 6}));
    EXPECT_EQ(d.rewritten(), apart);
  }
  {
    LayerGraph d;
    d.graph.result(d.dropout(d.dense(TENON_ACT_NONE, TENON_F32, d.input({6, 8})), {6, 8}));
    EXPECT_EQ(d.rewritten(), apart);
  }
  {
    LayerGraph d;
    d.graph.result(d.dropout(d.dense(TENON_ACT_NONE, TENON_F16), {6, 8}, TENON_NONE, 7, TENON_F16));
    EXPECT_EQ(d.rewritten(), apart);
  }
  {
    LayerGraph d;
    d.graph.result(d.dropout(d.reshape(d.dense(), {6, 2, 4}), {6, 2, 4}));
    EXPECT_EQ(d.rewritten(), (Names{"dot_bias_act", "reshape", "dropout"}));
  }
}

// Logits of a bf16 layer, cast for their loss, and what comes back.
struct CastGraph : LayerGraph {
  uint32_t cast(uint32_t x, int32_t to) {
    const uint32_t y = graph.value(to, {6, 8});
    graph.node("cast", {x}, {y}).attr_dtype("to", to);
    return y;
  }
  void loss(uint32_t x) {
    const uint32_t loss = graph.value(TENON_F32, {6}), lse = graph.value(TENON_F32, {6});
    graph.node("softmax_cross_entropy", {x, label}, {loss, lse});
    graph.result(loss);
    dx = graph.value(TENON_F32, {6, 8});
    graph.node("softmax_cross_entropy_grad", {input({6}), x, label, lse}, {dx});
  }
  uint32_t label = input({6}, TENON_I32), dx = 0;
};

TEST(RewritingCasts, LetsALossReadAndGiveBf16) {
  CastGraph c;
  const uint32_t x = c.input({6, 8}, TENON_BF16);
  c.loss(c.cast(x, TENON_F32));
  c.graph.result(c.cast(c.dx, TENON_BF16));
  EXPECT_EQ(c.rewritten(), (Names{"softmax_cross_entropy", "softmax_cross_entropy_grad"}));
  EXPECT_EQ(c.node(0).in(0).dtype(), TENON_BF16);
  EXPECT_EQ(c.node(1).in(1).dtype(), TENON_BF16);
  EXPECT_EQ(c.node(1).out(0).dtype(), TENON_BF16);
}

TEST(RewritingCasts, LeavesWhatIsReadElsewhere) {
  CastGraph c;
  const uint32_t wide = c.cast(c.input({6, 8}, TENON_BF16), TENON_F32);
  c.graph.result(wide);
  c.loss(wide);
  c.graph.result(c.dx);
  c.graph.result(c.cast(c.dx, TENON_BF16));
  EXPECT_EQ(c.rewritten(), (Names{"cast", "softmax_cross_entropy", "softmax_cross_entropy_grad", "cast"}));
}

// Gradients of a value with several readers, of more rows than products take that stream their weights.
struct SumGraph : LayerGraph {
  uint32_t dot(const Shape& batch = {}) {
    Shape a = batch, b = batch, c = batch;
    for (const auto& [dims, more] : {std::pair{&a, Shape{60, 4}}, {&b, {8, 4}}, {&c, {60, 8}}})
      dims->insert(dims->end(), more.begin(), more.end());
    const uint32_t y = graph.value(TENON_F32, c);
    graph.node("dot", {input(a), input(b)}, {y})
        .attr_bool("ta", false)
        .attr_bool("tb", true)
        .attr_dtype("out", TENON_F32);
    return y;
  }
  uint32_t add(uint32_t a, uint32_t b, const Shape& dims = {60, 8}) {
    const uint32_t y = graph.value(TENON_F32, dims);
    graph.node("add", {a, b}, {y});
    return y;
  }
};

TEST(RewritingSums, TakeTheOtherValueAsAResidual) {
  for (bool second : {false, true}) {
    SumGraph s;
    const uint32_t other = s.input({20, 3, 8}), y = s.reshape(s.dot(), {20, 3, 8});
    s.graph.result(second ? s.add(other, y, {20, 3, 8}) : s.add(y, other, {20, 3, 8}));
    EXPECT_EQ(s.rewritten(), Names{"dot_bias_act"});
    const plugin::NodeView node = s.node(0);
    EXPECT_FALSE(node.has(2));
    EXPECT_EQ(node.operand_id(3), other);
    EXPECT_TRUE(node.flag("tb"));
  }
}

TEST(RewritingSums, KeepABiasButNoActivation) {
  for (const int act : {TENON_ACT_NONE, TENON_ACT_RELU}) {
    SumGraph s;
    const uint32_t bias = s.input({8}), y = s.graph.value(TENON_F32, {60, 8});
    s.graph.node("dot_bias_act", {s.input({60, 4}), s.input({4, 8}), bias, TENON_NONE}, {y}).attr_enum("act", act);
    s.graph.result(s.add(y, s.input({60, 8})));
    EXPECT_EQ(s.rewritten(), act == TENON_ACT_NONE ? Names{"dot_bias_act"} : (Names{"dot_bias_act", "add"}));
    if (act != TENON_ACT_NONE) continue;
    const plugin::NodeView node = s.node(0);
    EXPECT_EQ(node.operand_id(2), bias);
    EXPECT_TRUE(node.has(3));
  }
}

TEST(RewritingSums, ChainProductsOfThree) {
  SumGraph s;
  const uint32_t a = s.dot(), b = s.dot(), c = s.dot();
  s.graph.result(s.add(s.add(a, b), c));
  EXPECT_EQ(s.rewritten(), (Names{"dot", "dot_bias_act", "dot_bias_act"}));
}

TEST(RewritingSums, LeaveWhatOthersReadAndWhatIsNoMatrix) {
  {
    SumGraph s;
    const uint32_t y = s.dot();
    s.graph.result(s.add(y, s.input({60, 8})));
    s.graph.result(y);
    EXPECT_EQ(s.rewritten(), (Names{"dot", "add"}));
  }
  {
    SumGraph s;
    const uint32_t y = s.dot();
    s.graph.result(s.add(y, y));
    EXPECT_EQ(s.rewritten(), (Names{"dot", "add"}));
  }
  {
    SumGraph s;
    s.graph.result(s.add(s.dot({3}), s.input({3, 60, 8}), {3, 60, 8}));
    EXPECT_EQ(s.rewritten(), (Names{"dot", "add"}));
  }
  {
    SumGraph s;
    s.graph.result(s.add(s.dot(), s.input({})));
    EXPECT_EQ(s.rewritten(), (Names{"dot", "add"}));
  }
  {
    SumGraph s;
    s.graph.result(s.add(s.reshape(s.dot(), {60, 2, 4}), s.input({60, 2, 4}), {60, 2, 4}));
    EXPECT_EQ(s.rewritten(), (Names{"dot", "reshape", "add"}));
  }
}

}  // namespace
}  // namespace tenon::testing
