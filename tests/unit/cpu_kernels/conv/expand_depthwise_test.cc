// A product that widens a map and the depthwise convolution behind it in one node, beside the two nodes: no bit is another.
#include "isa_test.h"

TENON_DECLARE_WIDE_FAMILY(add_convolution)

namespace tenon::testing {
namespace {

using Pair = std::vector<int64_t>;  // of rows and columns

struct Expansion {
  const char* what;
  Dims x;  // NHWC
  int64_t channels;
  Pair kernel, strides, low, high, dilation{1, 1};
  int expand_act = TENON_ACT_RELU6, act = TENON_ACT_RELU6;
  bool bias = false, norm = true, residual = false;

  Dims map() const { return {x[0], x[1], x[2], channels}; }
  Dims y() const {
    const auto size = [&](size_t d) {
      return (x[d + 1] + low[d] + high[d] - (kernel[d] - 1) * dilation[d] - 1) / strides[d] + 1;
    };
    return {x[0], size(0), size(1), channels};
  }
};

const Pair kOne{1, 1}, kTwo{2, 2}, kThree{3, 3}, kFive{5, 5}, kNone{0, 0};

const Expansion kExpansions[] = {
    {"many bands of one block", {1, 30, 31, 16}, 96, kThree, kOne, kOne, kOne},
    {"every other point", {3, 30, 28, 16}, 96, kThree, kTwo, kNone, kOne},
    {"every other point, odd sizes", {1, 29, 27, 24}, 144, kThree, kTwo, kOne, kOne},
    {"two blocks, the last part of a vector", {1, 15, 14, 33}, 203, kThree, kOne, kOne, kOne},
    {"four blocks", {1, 14, 14, 80}, 480, kFive, kOne, kTwo, kTwo, kOne, TENON_ACT_SILU, TENON_ACT_SILU},
    {"few channels", {3, 17, 13, 5}, 7, kThree, kOne, kOne, kOne, kOne, TENON_ACT_NONE, TENON_ACT_RELU, true, false},
    {"no pads", {1, 21, 20, 8}, 40, kFive, kOne, kNone, kNone, kOne, TENON_ACT_RELU, TENON_ACT_NONE, true, false},
    {"five by five, every other", {3, 19, 22, 12}, 72, kFive, kTwo, kOne, kTwo, kOne, TENON_ACT_SILU, TENON_ACT_RELU6},
    {"as many rows as the room holds",
     {3, 33, 120, 9},
     130,
     kThree,
     kOne,
     kOne,
     kOne,
     kOne,
     TENON_ACT_HARD_SWISH,
     TENON_ACT_HARD_SWISH,
     true},
    {"one row at a time", {1, 12, 520, 3}, 190, kFive, kOne, kTwo, kTwo},
    {"taps apart", {1, 18, 19, 10}, 60, kThree, kOne, kTwo, kTwo, kTwo, TENON_ACT_NONE, TENON_ACT_SILU, false, false},
    {"strides beyond the taps", {1, 20, 20, 10}, 33, {2, 2}, {3, 3}, kNone, kNone, kOne},
    {"unlike rows and columns", {1, 16, 25, 20}, 100, {3, 5}, {1, 2}, {0, 2}, {2, 1}, kOne},
    {"bands of pads alone",
     {1, 6, 9, 20},
     100,
     kThree,
     kOne,
     {9, 1},
     {9, 1},
     kOne,
     TENON_ACT_RELU6,
     TENON_ACT_NONE,
     true},
    {"a residual",
     {1, 15, 15, 20},
     48,
     kThree,
     kOne,
     kOne,
     kOne,
     kOne,
     TENON_ACT_RELU,
     TENON_ACT_RELU,
     true,
     true,
     true},
    {"deep sums", {1, 12, 12, 384}, 200, kThree, kOne, kOne, kOne},
};

class ExpandDepthwise : public IsaTest {
 protected:
  ExpandDepthwise() { TENON_USE_WIDE_FAMILY(add_convolution); }

  // What either of the convolutions has beside x: a filter and, where there is one, bias and norm.
  struct Weights {
    Dims dims;
    Floats w, bias, norm[4];
  };
  Weights weights(const Dims& dims) {
    const int64_t o = dims[3];
    return {
        dims, random(product(dims)), random(o), {random(o, 0.5, 2), random(o), random(o, -1, 1), random(o, 0.5, 4)}};
  }
  static void add_filter(NodeRun& n, const Expansion& c, const Weights& w) {
    n.in(TENON_F32, w.dims, w.w);
    c.bias ? n.in(TENON_F32, {c.channels}, w.bias) : n.absent();
  }
  static void add_norm(NodeRun& n, const Expansion& c, const Weights& w) {
    for (const Floats& v : w.norm) c.norm ? n.in(TENON_F32, {c.channels}, v) : n.absent();
  }
  static void add_residual(NodeRun& n, const Expansion& c, const Floats& residual) {
    residual.empty() ? n.absent() : n.in(TENON_F32, c.y(), residual);
  }
  static void depthwise_attributes(plugin::GraphBuilder& node, const Expansion& c) {
    node.attr_list("strides", c.strides).attr_list("low", c.low).attr_list("high", c.high);
    node.attr_list("dilation", c.dilation).attr_i64("groups", c.channels);
    node.attr_enum("act", c.act).attr_f64("alpha", 0.25).attr_f64("eps", 2e-3);
  }
  Results convolved(const Expansion& c, const Dims& x_dims, const Floats& x, const Dims& y_dims, const Weights& w,
                    const Floats& residual, const std::function<void(plugin::GraphBuilder&)>& attributes) {
    return run(1, [&](NodeRun& n) {
      n.in(TENON_F32, x_dims, x);
      add_filter(n, c, w);
      add_residual(n, c, residual);
      if (c.norm) add_norm(n, c, w);
      n.out(TENON_F32, y_dims);
      attributes(n.op(c.norm ? "cpu.conv_norm" : "conv_bias_act"));
    });
  }
  Results in_two_nodes(const Expansion& c, const Floats& x, const Weights& expand, const Weights& depthwise,
                       const Floats& residual) {
    const Floats map = convolved(c, c.x, x, c.map(), expand, {}, [&](plugin::GraphBuilder& node) {
                         node.attr_list("strides", kOne).attr_list("low", kNone).attr_list("high", kNone);
                         node.attr_list("dilation", kOne).attr_i64("groups", 1).attr_f64("eps", 1e-3);
                         node.attr_enum("act", c.expand_act).attr_f64("alpha", 0.5);
                       }).get(0);
    return convolved(c, c.map(), map, c.y(), depthwise, residual,
                     [&](plugin::GraphBuilder& node) { depthwise_attributes(node, c); });
  }
  Results in_one(const Expansion& c, const Floats& x, const Weights& expand, const Weights& depthwise,
                 const Floats& residual) {
    return run(1, [&](NodeRun& n) {
      n.in(TENON_F32, c.x, x);
      add_filter(n, c, depthwise);
      add_residual(n, c, residual);
      add_norm(n, c, depthwise);
      add_filter(n, c, expand);
      add_norm(n, c, expand);
      n.out(TENON_F32, c.y());
      plugin::GraphBuilder& node = n.op("cpu.expand_depthwise");
      depthwise_attributes(node, c);
      node.attr_enum("expand_act", c.expand_act).attr_f64("expand_alpha", 0.5).attr_f64("expand_eps", 1e-3);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, ExpandDepthwise, ::testing::ValuesIn(wide_isas()),
                         [](const auto& info) { return info.param; });

TEST_P(ExpandDepthwise, HasTheBitsOfTwoNodes) {
  for (const Expansion& c : kExpansions) {
    SCOPED_TRACE(c.what);
    const Floats x = random(product(c.x)), residual = c.residual ? random(product(c.y())) : Floats{};
    const Weights expand = weights({1, 1, c.x[3], c.channels}),
                  depthwise = weights({c.kernel[0], c.kernel[1], 1, c.channels});
    const Results apart = in_two_nodes(c, x, expand, depthwise, residual);
    expect_same_bits(apart, in_one(c, x, expand, depthwise, residual), "bands");
  }
}

}  // namespace
}  // namespace tenon::testing
