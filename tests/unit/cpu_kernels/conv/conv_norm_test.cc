// A convolution, the batch norm of given moments behind it, a residual and an activation, in one node.
#include "isa_test.h"

TENON_DECLARE_WIDE_FAMILY(add_convolution)

namespace tenon::testing {
namespace {

constexpr float kNormEps = 1e-3f;

struct NormedConv {
  Dims x, w;  // NHWC, HWIO
  int64_t low, high, stride, groups;
  bool bias, residual, relu;
  Dims y() const {
    const auto size = [&](int d) { return (x[d] + low + high - w[d - 1]) / stride + 1; };
    return {x[0], size(1), size(2), w[3]};
  }
};

const NormedConv kNormedConvs[] = {
    {{1, 9, 7, 20}, {1, 1, 20, 33}, 0, 0, 1, 1, false, true, true},      // a product, odd channels
    {{1, 14, 14, 64}, {1, 1, 64, 192}, 0, 0, 1, 1, true, true, true},    // whole panels
    {{1, 7, 7, 640}, {1, 1, 640, 200}, 0, 0, 1, 1, false, true, true},   // few rows, a part of a panel
    {{1, 7, 7, 2048}, {1, 1, 2048, 100}, 0, 0, 1, 1, true, true, true},  // sums cut into chunks
    {{2, 20, 20, 300}, {1, 1, 300, 130}, 0, 0, 1, 1, false, false, true},
    {{1, 1, 1, 96}, {1, 1, 96, 300}, 0, 0, 1, 1, true, true, true},       // a vector by a matrix
    {{1, 6, 6, 40}, {1, 1, 40, 1}, 0, 0, 1, 1, false, true, false},       // a matrix by a vector
    {{1, 14, 14, 64}, {1, 1, 64, 128}, 0, 0, 2, 1, false, false, false},  // points of x that are left out
    {{1, 13, 15, 513}, {1, 1, 513, 257}, 0, 0, 2, 1, true, true, true},
    {{3, 28, 27, 24}, {1, 1, 24, 70}, 0, 0, 3, 1, false, true, true},
    {{1, 9, 9, 16}, {1, 1, 16, 24}, 1, 1, 2, 1, false, true, true},    // padded points
    {{1, 7, 7, 96}, {3, 3, 96, 140}, 1, 1, 1, 1, false, true, true},   // many weights
    {{1, 30, 31, 3}, {7, 7, 3, 64}, 3, 3, 2, 1, true, false, true},    // a stem
    {{2, 16, 16, 32}, {3, 3, 32, 48}, 1, 1, 1, 1, false, true, true},  // Winograd's
    {{1, 14, 14, 128}, {3, 3, 128, 72}, 1, 1, 1, 1, true, true, false},
    {{1, 17, 17, 10}, {5, 5, 10, 20}, 2, 2, 1, 1, false, false, true},  // few channels
    {{1, 15, 14, 21}, {3, 3, 1, 21}, 1, 1, 2, 21, false, true, true},   // depthwise
    {{1, 10, 10, 12}, {3, 3, 4, 18}, 0, 1, 1, 3, true, false, true},    // groups
};

class ConvNorm : public IsaTest {
 protected:
  ConvNorm() { TENON_USE_WIDE_FAMILY(add_convolution); }
  void draw(const NormedConv& c) {
    const int64_t o = c.w[3];
    x = random(product(c.x)), w = random(product(c.w)), residual = random(product(c.y()));
    bias = random(o), gamma = random(o, 0.5, 2), beta = random(o), mean = random(o, -3, 3), var = random(o, 0.5, 4);
  }
  // The result before its activation, and the sum of |a||b| behind it, scaled as it is.
  void compute(const NormedConv& c);
  void check(const Floats& found, const Doubles& expected, double units) const;
  void operands(NodeRun& n, const NormedConv& c) const;

  Doubles exact, weight;
  Floats x, w, bias, residual, gamma, beta, mean, var;
};
INSTANTIATE_TEST_SUITE_P(Isa, ConvNorm, ::testing::ValuesIn(wide_isas()), [](const auto& info) { return info.param; });

void normed_attributes(plugin::GraphBuilder& node, const NormedConv& c, int precision) {
  node.attr_list("strides", {c.stride, c.stride}).attr_list("low", {c.low, c.low}).attr_list("high", {c.high, c.high});
  node.attr_list("dilation", {1, 1}).attr_i64("groups", c.groups).attr_enum("precision", precision);
  node.attr_f64("eps", static_cast<double>(kNormEps));
}

void ConvNorm::operands(NodeRun& n, const NormedConv& c) const {
  const int64_t o = c.w[3];
  n.in(TENON_F32, c.x, x).in(TENON_F32, c.w, w);
  c.bias ? n.in(TENON_F32, {o}, bias) : n.absent();
  c.residual ? n.in(TENON_F32, c.y(), residual) : n.absent();
  n.in(TENON_F32, {o}, gamma).in(TENON_F32, {o}, beta).in(TENON_F32, {o}, mean).in(TENON_F32, {o}, var);
  n.out(TENON_F32, c.y());
}

void ConvNorm::compute(const NormedConv& c) {
  const Dims y = c.y();
  const int64_t channels = c.w[2], o_of_group = c.w[3] / c.groups;
  exact.clear(), weight.clear();
  for (int64_t i = 0; i < product(y); ++i) {
    const int64_t o = i % y[3], column = i / y[3] % y[2], row = i / y[3] / y[2] % y[1], image = i / y[3] / y[2] / y[1];
    double sum = c.bias ? bias[o] : 0, size = std::abs(sum);
    for (int64_t t = 0; t < c.w[0] * c.w[1]; ++t) {
      const int64_t h = row * c.stride + t / c.w[1] - c.low, v = column * c.stride + t % c.w[1] - c.low;
      if (h < 0 || v < 0 || h >= c.x[1] || v >= c.x[2]) continue;
      const float* from = x.data() + ((image * c.x[1] + h) * c.x[2] + v) * c.x[3] + o / o_of_group * channels;
      for (int64_t k = 0; k < channels; ++k) {
        const double term = static_cast<double>(from[k]) * static_cast<double>(w[(t * channels + k) * c.w[3] + o]);
        sum += term, size += std::abs(term);
      }
    }
    const double scale = gamma[o] / std::sqrt(static_cast<double>(var[o]) + kNormEps);
    exact.push_back((sum - mean[o]) * scale + beta[o] + (c.residual ? residual[i] : 0.0f));
    weight.push_back(size * scale);
  }
}

// Within units of 2^-23 of the sum's weight.
void ConvNorm::check(const Floats& found, const Doubles& expected, double units) const {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], (units * weight[i] + 16) / (1 << 23)) << "element " << i;
}

TEST_P(ConvNorm, IsTheConvolutionNormalized) {
  for (const NormedConv& c : kNormedConvs) {
    SCOPED_TRACE(::testing::PrintToString(c.x) + " by " + ::testing::PrintToString(c.w));
    draw(c);
    compute(c);
    Doubles expected = exact;
    if (c.relu)
      for (double& v : expected) v = std::max(0.0, v);
    for (int precision : {TENON_PRECISION_HIGHEST, TENON_PRECISION_DEFAULT}) {
      const Results found = run(1, [&](NodeRun& n) {
        operands(n, c);
        plugin::GraphBuilder& node = n.op("cpu.conv_norm");
        normed_attributes(node, c, precision);
        node.attr_enum("act", c.relu ? TENON_ACT_RELU : TENON_ACT_NONE);
      });
      check(found.get(0), expected, precision == TENON_PRECISION_HIGHEST ? 2 : 10);
    }
  }
}

TEST_P(ConvNorm, ActivatesAfterTheResidual) {
  for (const NormedConv& c : kNormedConvs) {
    SCOPED_TRACE(::testing::PrintToString(c.x) + " by " + ::testing::PrintToString(c.w));
    draw(c);
    compute(c);
    Doubles expected = exact;
    for (double& v : expected) v = std::tanh(v);
    const Results found = run(1, [&](NodeRun& n) {
      operands(n, c);
      plugin::GraphBuilder& node = n.op("cpu.conv_norm");
      normed_attributes(node, c, TENON_PRECISION_DEFAULT);
      node.attr_enum("act", TENON_ACT_TANH);
    });
    check(found.get(0), expected, 10);
  }
}

}  // namespace
}  // namespace tenon::testing
