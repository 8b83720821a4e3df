// What a convolution does behind its sums, beside the same by nodes of their own: no bit is another.
#include "isa_test.h"

TENON_DECLARE_WIDE_FAMILY(add_convolution)
TENON_DECLARE_FAMILY(add_elementwise)

namespace tenon::testing {
namespace {

struct EpilogueConv {
  const char* what;
  Dims x, w;  // NHWC, HWIO
  int64_t low, stride, groups;
  bool exact = false;  // not by Winograd, whose 5x5 has no activation but a clip
};

const EpilogueConv kEpilogueConvs[] = {
    {"a product, short sums", {2, 13, 11, 16}, {1, 1, 16, 96}, 0, 1, 1},
    {"a product, odd columns", {1, 14, 14, 96}, {1, 1, 96, 25}, 0, 1, 1},
    {"a product, long sums", {1, 10, 10, 576}, {1, 1, 576, 70}, 0, 1, 1},
    {"a product that streams weights", {1, 7, 7, 960}, {1, 1, 960, 160}, 0, 1, 1},
    {"a product of few rows", {3, 1, 1, 320}, {1, 1, 320, 400}, 0, 1, 1},
    {"a product by vectors", {1, 1, 1, 480}, {1, 1, 480, 20}, 0, 1, 1},
    {"a product in parts", {1, 5, 5, 2304}, {1, 1, 2304, 40}, 0, 1, 1},
    {"a strided product", {1, 15, 15, 24}, {1, 1, 24, 40}, 0, 2, 1},
    {"a stem", {1, 33, 31, 3}, {3, 3, 3, 32}, 1, 2, 1},
    {"Winograd's", {1, 20, 20, 32}, {3, 3, 32, 40}, 1, 1, 1},
    {"planes", {1, 40, 44, 10}, {5, 5, 10, 20}, 2, 1, 1, true},
    {"a depthwise one", {2, 17, 19, 40}, {3, 3, 1, 40}, 1, 1, 40},
    {"a depthwise one of a part of a vector", {1, 9, 9, 13}, {5, 5, 1, 13}, 2, 1, 13},
    {"a depthwise one with a stride", {1, 21, 20, 48}, {3, 3, 1, 48}, 1, 2, 48},
    {"a small depthwise one", {1, 7, 7, 200}, {5, 5, 1, 200}, 2, 1, 200},
    {"groups", {1, 12, 12, 24}, {3, 3, 4, 24}, 1, 1, 6},
};

class ConvEpilogue : public IsaTest {
 protected:
  ConvEpilogue() {
    TENON_USE_WIDE_FAMILY(add_convolution);
    TENON_USE_FAMILY(add_elementwise);
  }
  // The activation by the kernel of its own.
  Floats activated(const Floats& z, int act) {
    const auto n = static_cast<int64_t>(z.size());
    return run(1,
               [&](NodeRun& node) {
                 node.in(TENON_F32, {n}, z).out(TENON_F32, {n});
                 node.op("activation").attr_enum("act", act).attr_f64("alpha", 0.25);
               })
        .get(0);
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, ConvEpilogue, ::testing::ValuesIn(wide_isas()),
                         [](const auto& info) { return info.param; });

TEST_P(ConvEpilogue, HasTheBitsOfNodesOfTheirOwn) {
  for (const EpilogueConv& c : kEpilogueConvs) {
    SCOPED_TRACE(c.what);
    const auto size = [&](size_t d) { return (c.x[d] + 2 * c.low - c.w[d - 1]) / c.stride + 1; };
    const Dims y{c.x[0], size(1), size(2), c.w[3]};
    const Floats x = random(product(c.x)), w = random(product(c.w)), bias = random(c.w[3]),
                 residual = random(product(y));
    const auto convolved = [&](int act, bool with_residual) {
      return run(1,
                 [&](NodeRun& n) {
                   n.in(TENON_F32, c.x, x).in(TENON_F32, c.w, w).in(TENON_F32, {c.w[3]}, bias);
                   if (with_residual) n.in(TENON_F32, y, residual);
                   n.out(TENON_F32, y);
                   plugin::GraphBuilder& node = n.op("conv_bias_act");
                   node.attr_list("strides", {c.stride, c.stride})
                       .attr_list("low", {c.low, c.low})
                       .attr_list("high", {c.low, c.low});
                   node.attr_list("dilation", {1, 1}).attr_i64("groups", c.groups).attr_dtype("out", TENON_F32);
                   if (c.exact) node.attr_enum("precision", TENON_PRECISION_HIGHEST);
                   node.attr_enum("act", act).attr_f64("alpha", 0.25);
                 })
          .get(0);
    };
    const Floats sums = convolved(TENON_ACT_NONE, false);
    Floats more = sums;
    for (size_t i = 0; i < more.size(); ++i) more[i] += residual[i];
    // Another algorithm may take the residual, whose sums are in another order.
    expect_near(convolved(TENON_ACT_NONE, true), more, 1e-4);
    for (const bool with_residual : {false, true}) {
      const Floats z = with_residual ? convolved(TENON_ACT_NONE, true) : sums;
      for (const int act : {TENON_ACT_RELU, TENON_ACT_RELU6, TENON_ACT_LEAKY_RELU, TENON_ACT_SILU, TENON_ACT_GELU,
                            TENON_ACT_HARD_SWISH, TENON_ACT_SIGMOID}) {
        SCOPED_TRACE(act);
        ASSERT_EQ(convolved(act, with_residual), activated(z, act));
      }
    }
  }
}

}  // namespace
}  // namespace tenon::testing
