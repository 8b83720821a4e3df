// A convolution and its batch norm in one node are what the two are one after the other, and so are their gradients.
#include <algorithm>

#include "isa_test.h"

TENON_DECLARE_WIDE_FAMILY(add_convolution)
TENON_DECLARE_WIDE_FAMILY(add_normalization)

namespace tenon::testing {
namespace {

struct NormedCase {
  Dims x, w;  // NHWC, HWIO
  int64_t low, stride;
  bool bias, relu, residual;
  int64_t groups = 1;
  int instead = TENON_ACT_RELU;  // of ReLU
  int act() const { return relu ? instead : TENON_ACT_NONE; }
  bool by_argument() const { return act() > TENON_ACT_RELU6; }  // SiLU
  double activated(double v) const {
    if (by_argument()) return v * sigmoid(v);
    return !relu ? v : instead == TENON_ACT_RELU6 ? std::clamp(v, 0.0, 6.0) : std::max(0.0, v);
  }
  // The activation's derivative for argument z and result y.
  double slope(double z, double y) const {
    if (by_argument()) return sigmoid(z) * (1 + z * (1 - sigmoid(z)));
    return !relu || (y > 0 && (instead != TENON_ACT_RELU6 || y < 6)) ? 1 : 0;
  }
  Dims y() const {
    Dims d{x[0]};
    for (size_t i = 1; i + 1 < x.size(); ++i) d.push_back((x[i] + 2 * low - w[i - 1]) / stride + 1);
    d.push_back(w.back());
    return d;
  }
  size_t spatial() const { return x.size() - 2; }
};

const NormedCase kNormedCases[] = {
    {{3, 13, 18, 16}, {3, 3, 16, 16}, 1, 1, false, true, false},  // tiles beyond the image
    {{9, 7, 7, 64}, {3, 3, 64, 130}, 1, 1, true, true, true},     // several parts of channels
    {{2, 56, 56, 8}, {3, 3, 8, 24}, 1, 1, false, true, true},
    {{1, 9, 9, 40}, {3, 3, 40, 300}, 1, 1, false, false, false},
    {{2, 30, 31, 3}, {7, 7, 3, 64}, 3, 2, false, true, false},
    {{3, 15, 17, 16}, {3, 3, 16, 32}, 1, 2, false, true, true},
    {{4, 12, 12, 24}, {1, 1, 24, 72}, 0, 1, true, true, false},  // a product
    {{2, 16, 16, 300}, {1, 1, 300, 290}, 0, 1, false, true, true},
    {{4, 14, 14, 20}, {1, 1, 20, 36}, 0, 2, false, true, false},  // points of x that no tap reads
    {{1, 1, 4, 2048}, {1, 1, 2048, 16}, 0, 1, false, true, false},
    {{2, 20, 24, 10}, {5, 5, 10, 20}, 2, 1, true, true, false},  // points in vectors
    {{4, 24, 28, 16}, {5, 5, 16, 24}, 2, 1, true, true, true},   // 5x5 Winograd
    {{5, 33, 6}, {3, 6, 7}, 1, 1, false, true, true},            // one dimension
    {{2, 5, 6, 4, 5}, {3, 3, 3, 5, 9}, 1, 2, false, true, false},
    {{2, 1, 1, 3}, {1, 1, 3, 1}, 0, 1, false, false, true},
    {{1, 28, 28, 64},
     {1, 1, 64, 128},
     0,
     2,
     false,
     true,
     false},  // points of x that no tap reads, several parts of channels
    {{2, 10, 37, 51}, {1, 1, 51, 34}, 0, 2, false, true, true},
    {{4, 15, 14, 24}, {3, 3, 1, 24}, 1, 1, true, true, false, 24, TENON_ACT_RELU6},  // depthwise
    {{3, 17, 16, 40}, {5, 5, 1, 40}, 2, 2, false, true, true, 40},
    {{2, 8, 9, 10}, {3, 3, 1, 20}, 1, 2, false, true, false, 10},                   // two filters a channel
    {{2, 9, 10, 32}, {3, 3, 8, 24}, 1, 1, false, true, false, 4, TENON_ACT_RELU6},  // other groups
    {{3, 13, 18, 16}, {3, 3, 16, 16}, 1, 1, false, true, true, 1, TENON_ACT_RELU6},
    {{3, 15, 14, 600}, {3, 3, 1, 600}, 1, 2, false, true, false, 600, TENON_ACT_SILU},
    {{4, 12, 12, 24}, {1, 1, 24, 72}, 0, 1, true, true, false, 1, TENON_ACT_SILU},
};
constexpr double kNormedEps = 1e-3;

// Mean and variance of t [rows, o], and y, in f64 from the formulas.
struct NormedSolution {
  Doubles mean, var, y;
};
NormedSolution solve_norm(const NormedCase& c, const Floats& t, const Floats& gamma, const Floats& beta,
                          const Floats& residual) {
  const size_t o = gamma.size();
  const double each = static_cast<double>(o) / static_cast<double>(t.size());
  NormedSolution s{Doubles(o), Doubles(o), {}};
  for (size_t i = 0; i < t.size(); ++i) s.mean[i % o] += each * t[i];
  for (size_t i = 0; i < t.size(); ++i) s.var[i % o] += each * std::pow(t[i] - s.mean[i % o], 2);
  for (size_t i = 0; i < t.size(); ++i) {
    const size_t j = i % o;
    const double normalized = (t[i] - s.mean[j]) / std::sqrt(s.var[j] + kNormedEps);
    const double v = normalized * gamma[j] + beta[j] + (c.residual ? residual[i] : 0.0f);
    s.y.push_back(c.activated(v));
  }
  return s;
}

struct GradientOperands {
  Floats dy, w, other, x, gamma, beta, mean, var;
};

// Gradients in f64 from the formulas, where dt is what comes to the norm's result y.
struct GradientSolution {
  Doubles dz, dx, dgamma, dbeta, dbias;
};
GradientSolution solve_gradient(const NormedCase& c, const GradientOperands& g, const Doubles& dt, const Floats& y) {
  const size_t k = g.gamma.size();
  const double rows = static_cast<double>(g.x.size() / k);
  const auto scale = [&](size_t j) { return std::sqrt(g.var[j] + kNormedEps); };
  const auto normalized = [&](size_t i) { return (g.x[i] - g.mean[i % k]) / scale(i % k); };
  GradientSolution s{{}, {}, Doubles(k), Doubles(k), Doubles(k)};
  for (size_t i = 0; i < g.x.size(); ++i) {
    s.dz.push_back(dt[i] * c.slope(normalized(i) * g.gamma[i % k] + g.beta[i % k], y[i]));
    s.dbeta[i % k] += s.dz[i];
    s.dgamma[i % k] += s.dz[i] * normalized(i);
  }
  for (size_t i = 0; i < g.x.size(); ++i) {
    const size_t j = i % k;
    s.dx.push_back(g.gamma[j] / scale(j) * (s.dz[i] - s.dbeta[j] / rows - normalized(i) * s.dgamma[j] / rows));
    s.dbias[j] += s.dx[i];
  }
  return s;
}

class NormedConvolution : public IsaTest {
 protected:
  NormedConvolution() {
    TENON_USE_WIDE_FAMILY(add_normalization);
    TENON_USE_WIDE_FAMILY(add_convolution);
  }
  static void convolve(plugin::GraphBuilder& node, const NormedCase& c, int precision) {
    const size_t n = c.spatial();
    node.attr_list("strides", Dims(n, c.stride)).attr_list("low", Dims(n, c.low)).attr_list("high", Dims(n, c.low));
    node.attr_list("dilation", Dims(n, 1)).attr_i64("groups", c.groups).attr_enum("precision", precision);
  }
  static void normalize(plugin::GraphBuilder& node, const NormedCase& c) {
    node.attr_f64("eps", kNormedEps).attr_enum("act", c.act());
  }
  static void add_normed(NodeRun& n, const char* op, const NormedCase& c, int precision) {
    plugin::GraphBuilder& node = n.op(op);
    convolve(node, c, precision);
    normalize(node, c);
  }
  GradientOperands gradient_operands(const NormedCase& c) {
    const int64_t k = c.x.back(), x = product(c.x);
    return {random(product(c.y())), random(product(c.w)), random(x), random(x), random(k, 0.5, 2), random(k), random(k),
            random(k, 0.1f, 2)};
  }
  Results normed_gradient(const NormedCase& c, const GradientOperands& g, int precision, bool with_other,
                          const Floats* y);
  Floats norm_of(const NormedCase& c, const GradientOperands& g);
  Floats plain_gradient(const NormedCase& c, const GradientOperands& g);
  void check_forward(const NormedCase& c, int precision, double tolerance, float offset);
  void check_gradient(const NormedCase& c, int precision, double tolerance, bool with_other, bool by_y);
};
INSTANTIATE_TEST_SUITE_P(Isa, NormedConvolution, ::testing::ValuesIn(wide_isas()),
                         [](const auto& info) { return info.param; });

void NormedConvolution::check_forward(const NormedCase& c, int precision, double tolerance, float offset) {
  const int64_t o = c.w.back();
  const Floats x = random(product(c.x)), w = random(product(c.w)), residual = random(product(c.y()));
  const Floats gamma = random(o, 0.5, 2), beta = random(o);
  Floats bias = random(o);
  for (float& b : bias) b += offset;
  const auto convolution = [&](NodeRun& n) {
    n.in(TENON_F32, c.x, x).in(TENON_F32, c.w, w);
    c.bias ? n.in(TENON_F32, {o}, bias) : n.absent();
  };
  const Results plain = run(1, [&](NodeRun& n) {
    convolution(n);
    n.out(TENON_F32, c.y());
    convolve(n.op("conv_bias_act"), c, TENON_PRECISION_HIGHEST);
  });

  const Results got = run(4, [&](NodeRun& n) {
    convolution(n);
    n.in(TENON_F32, {o}, gamma).in(TENON_F32, {o}, beta);
    if (c.residual) n.in(TENON_F32, c.y(), residual);
    n.out(TENON_F32, c.y()).out(TENON_F32, c.y()).out(TENON_F32, {o}).out(TENON_F32, {o});
    add_normed(n, "cpu.batch_norm.conv", c, precision);
  });

  const Floats t = got.get(0);
  expect_near(t, plain.get(0), tolerance);
  const NormedSolution expected = solve_norm(c, t, gamma, beta, residual);
  expect_near(got.get(2), expected.mean, 1e-6);
  expect_near(got.get(3), expected.var, 1e-5);
  // A mean is rounded to a float, and y is its distance from that.
  expect_near(got.get(1), expected.y, 1e-5 + 1e-5 * static_cast<double>(offset));
}

Floats NormedConvolution::norm_of(const NormedCase& c, const GradientOperands& g) {
  const int64_t k = c.x.back();
  const Results found = run(1, [&](NodeRun& n) {
    n.in(TENON_F32, c.x, g.x).in(TENON_F32, {k}, g.gamma).in(TENON_F32, {k}, g.beta);
    n.in(TENON_F32, {k}, g.mean).in(TENON_F32, {k}, g.var).out(TENON_F32, c.x);
    normalize(n.op("batch_norm_apply"), c);
  });
  return found.get(0);
}

Floats NormedConvolution::plain_gradient(const NormedCase& c, const GradientOperands& g) {
  const Results found = run(1, [&](NodeRun& n) {
    n.in(TENON_F32, c.y(), g.dy).in(TENON_F32, c.w, g.w).out(TENON_F32, c.x);
    convolve(n.op("conv_grad_input"), c, TENON_PRECISION_HIGHEST);
  });
  return found.get(0);
}

// The activation's mask is by y or, where that is nullptr, by x and beta.
Results NormedConvolution::normed_gradient(const NormedCase& c, const GradientOperands& g, int precision,
                                           bool with_other, const Floats* y) {
  const int64_t k = c.x.back();
  const size_t results = c.bias ? 5 : c.residual ? 4 : 3;
  return run(results, [&](NodeRun& n) {
    n.in(TENON_F32, c.y(), g.dy).in(TENON_F32, c.w, g.w);
    with_other ? n.in(TENON_F32, c.x, g.other) : n.absent();
    n.in(TENON_F32, c.x, g.x).in(TENON_F32, {k}, g.gamma).in(TENON_F32, {k}, g.mean).in(TENON_F32, {k}, g.var);
    if (c.relu) y ? n.in(TENON_F32, c.x, *y) : n.absent().in(TENON_F32, {k}, g.beta);
    n.out(TENON_F32, c.x).out(TENON_F32, {k}).out(TENON_F32, {k});
    if (c.residual) n.out(TENON_F32, c.x);
    if (c.bias && !c.residual) n.no_out();
    if (c.bias) n.out(TENON_F32, {k});
    add_normed(n, "cpu.batch_norm.grad_input", c, precision);
  });
}

void NormedConvolution::check_gradient(const NormedCase& c, int precision, double tolerance, bool with_other,
                                       bool by_y) {
  const GradientOperands g = gradient_operands(c);
  by_y = by_y && !c.by_argument();
  const Floats y = norm_of(c, g), plain = plain_gradient(c, g);
  Doubles dt;
  for (size_t i = 0; i < plain.size(); ++i)
    dt.push_back(static_cast<double>(plain[i]) + (with_other ? g.other[i] : 0.0f));

  const Results got = normed_gradient(c, g, precision, with_other, by_y ? &y : nullptr);

  if (c.relu && !c.by_argument()) {
    const Results other_mask = normed_gradient(c, g, precision, with_other, by_y ? nullptr : &y);
    EXPECT_EQ(got.bytes, other_mask.bytes) << "the mask by x is not the mask by y";
  }
  const GradientSolution expected = solve_gradient(c, g, dt, y);
  const double sums = tolerance * std::sqrt(static_cast<double>(g.x.size() / g.gamma.size()));
  expect_near(got.get(0), expected.dx, 10 * tolerance);
  expect_near(got.get(1), expected.dgamma, sums);
  expect_near(got.get(2), expected.dbeta, sums);
  if (c.residual) expect_near(got.get(3), expected.dz, tolerance);
  if (c.bias) expect_near(got.get(4), expected.dbias, 10 * sums);
}

TEST_P(NormedConvolution, IsConvolutionThenNorm) {
  for (const NormedCase& c : kNormedCases) {
    SCOPED_TRACE(::testing::PrintToString(c.x));
    check_forward(c, TENON_PRECISION_HIGHEST, 1e-5, 0);
    check_forward(c, TENON_PRECISION_DEFAULT, 1e-4, 0);
  }
}

TEST_P(NormedConvolution, KeepsVarianceFarFromZero) {
  for (const NormedCase& c : kNormedCases)
    if (c.bias) check_forward(c, TENON_PRECISION_DEFAULT, 1e-4, 3000);
}

TEST_P(NormedConvolution, GradientIsConvolutionsThenNorms) {
  bool flip = false;
  for (const NormedCase& c : kNormedCases) {
    SCOPED_TRACE(::testing::PrintToString(c.x));
    check_gradient(c, TENON_PRECISION_HIGHEST, 1e-5, flip, flip);
    check_gradient(c, TENON_PRECISION_DEFAULT, 1e-4, !flip, flip);
    flip = !flip;
  }
}

}  // namespace
}  // namespace tenon::testing
