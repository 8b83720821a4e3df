// A convolution of bf16 and a batch norm of given moments in one node have the bits of two nodes.
#include "pairs_fixture.h"

TENON_DECLARE_WIDE_FAMILY(add_normalization)

namespace tenon::testing {
namespace {

struct NormedCase {
  Dims x;
  int64_t kernel, o, stride;
  bool bias, residual;
  int act;
  int64_t groups = 1;
  int64_t low() const { return kernel / 2; }
  Dims w() const { return {kernel, kernel, x[3] / groups, o}; }
  Dims y() const {
    const auto size = [&](int64_t n) { return (n + 2 * low() - kernel) / stride + 1; };
    return {x[0], size(x[1]), size(x[2]), o};
  }
};

const NormedCase kNormedCases[] = {
    {{2, 9, 11, 64}, 1, 256, 1, false, true, TENON_ACT_RELU},    // a product, rounded block by block
    {{1, 15, 13, 34}, 1, 1100, 1, true, true, TENON_ACT_RELU},   // several blocks of columns, part of a panel
    {{2, 14, 13, 100}, 1, 24, 1, true, false, TENON_ACT_RELU6},  // few columns
    {{4, 12, 12, 25}, 1, 70, 1, false, true, TENON_ACT_NONE},    // half a word is left
    {{2, 15, 14, 20}, 1, 36, 2, true, true, TENON_ACT_RELU},     // points of x that no tap reads
    {{1, 1, 4, 2048}, 1, 16, 1, false, true, TENON_ACT_RELU},    // sums in parts
    {{1, 1, 1, 96}, 1, 30, 1, true, true, TENON_ACT_RELU},       // one row
    {{3, 8, 7, 12}, 1, 1, 1, false, false, TENON_ACT_NONE},      // one column
    {{3, 13, 18, 16}, 3, 16, 1, true, true, TENON_ACT_RELU},     // Winograd's, tiles beyond the image
    {{9, 7, 7, 64}, 3, 130, 1, false, true, TENON_ACT_NONE},     // several parts of channels
    {{3, 15, 17, 16}, 3, 32, 2, true, false, TENON_ACT_RELU},    // gathered
    {{2, 12, 11, 3}, 7, 24, 2, false, false, TENON_ACT_RELU},    // no pairs of channels
    {{3, 15, 14, 24}, 3, 24, 1, true, true, TENON_ACT_RELU6, 24},
    {{2, 10, 10, 12}, 3, 18, 1, false, true, TENON_ACT_RELU, 3},
};

class ConvNormHalves : public Pairs {
 protected:
  ConvNormHalves() {
    if (GetParam() == "avx512_bf16" || by_tiles())
      cpu::avx512::add_normalization(table_);
    else
      TENON_USE_WIDE_FAMILY(add_normalization);
  }
  Halves halves(int64_t n) { return to_halves(TENON_BF16, random(n)); }
  // gamma up to `size`.
  void check(const NormedCase& c, float size);
};
INSTANTIATE_TEST_SUITE_P(Isa, ConvNormHalves, ::testing::ValuesIn(pair_isas()),
                         [](const auto& info) { return info.param; });

void ConvNormHalves::check(const NormedCase& c, float size) {
  const Halves x = halves(product(c.x)), w = halves(product(c.w())), bias = halves(c.o);
  const Halves residual = size < 1 ? Halves(static_cast<size_t>(product(c.y()))) : halves(product(c.y()));
  const Floats gamma = random(c.o, size / 2, size), beta = random(c.o, -size, size), mean = random(c.o);
  const Floats var = random(c.o, 0.5f, 4);
  const auto convolution = [&](NodeRun& n) {
    n.in(TENON_BF16, c.x, x).in(TENON_BF16, c.w(), w);
    c.bias ? n.in(TENON_BF16, {c.o}, bias) : n.absent();
  };
  const auto convolve = [&](plugin::GraphBuilder& node) {
    node.attr_list("strides", {c.stride, c.stride}).attr_list("dilation", {1, 1}).attr_i64("groups", c.groups);
    node.attr_list("low", {c.low(), c.low()}).attr_list("high", {c.low(), c.low()});
  };
  const auto moments = [&](NodeRun& n) {
    for (const Floats* v : {&gamma, &beta, &mean, &var}) n.in(TENON_F32, {c.o}, *v);
  };
  const Results conv = run(1, [&](NodeRun& n) {
    convolution(n);
    n.out(TENON_BF16, c.y());
    convolve(n.op("conv_bias_act"));
  });
  const Results apart = run(1, [&](NodeRun& n) {
    n.in(TENON_BF16, c.y(), conv.get<uint16_t>(0));
    moments(n);
    if (c.residual) n.in(TENON_BF16, c.y(), residual);
    n.out(TENON_BF16, c.y());
    n.op("batch_norm_apply").attr_f64("eps", 1e-3).attr_enum("act", c.act);
  });
  const Results joined = run(1, [&](NodeRun& n) {
    convolution(n);
    c.residual ? n.in(TENON_BF16, c.y(), residual) : n.absent();
    moments(n);
    n.out(TENON_BF16, c.y());
    plugin::GraphBuilder& node = n.op("cpu.conv_norm");
    convolve(node);
    node.attr_f64("eps", 1e-3).attr_enum("act", c.act);
  });
  expect_same_bits(apart, joined, "one node");
}

TEST_P(ConvNormHalves, HaveTheBitsOfTwoNodes) {
  for (const NormedCase& c : kNormedCases) {
    SCOPED_TRACE(::testing::PrintToString(c.x) + " by " + ::testing::PrintToString(c.w()));
    check(c, 2);
  }
}

// Products flush subnormal numbers, norms do not.
TEST_P(ConvNormHalves, KeepSubnormalResults) {
  for (const NormedCase& c : kNormedCases) {
    SCOPED_TRACE(::testing::PrintToString(c.x) + " by " + ::testing::PrintToString(c.w()));
    check(c, 1e-39f);
  }
}

}  // namespace
}  // namespace tenon::testing
