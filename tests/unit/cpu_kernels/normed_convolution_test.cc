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
};
constexpr double kNormEps = 1e-3;

class NormedConvolution : public IsaTest {
 protected:
  NormedConvolution() {
    TENON_USE_WIDE_FAMILY(add_normalization);
    TENON_USE_WIDE_FAMILY(add_convolution);
  }
  static void convolve(plugin::GraphBuilder& node, const NormedCase& c, int precision) {
    const size_t n = c.spatial();
    node.attr_list("strides", Dims(n, c.stride)).attr_list("low", Dims(n, c.low)).attr_list("high", Dims(n, c.low));
    node.attr_list("dilation", Dims(n, 1)).attr_i64("groups", 1).attr_enum("precision", precision);
  }
  static void normalize(plugin::GraphBuilder& node, const NormedCase& c) {
    node.attr_f64("eps", kNormEps).attr_enum("act", c.relu ? TENON_ACT_RELU : TENON_ACT_NONE);
  }
  void check_forward(const NormedCase& c, int precision, double tolerance, float offset);
  void check_gradient(const NormedCase& c, int precision, double tolerance, bool with_other, bool by_y);
};
INSTANTIATE_TEST_SUITE_P(Isa, NormedConvolution, ::testing::ValuesIn(wide_isas()),
                         [](const auto& info) { return info.param; });

void NormedConvolution::check_forward(const NormedCase& c, int precision, double tolerance, float offset) {
  const int64_t o = c.w.back(), rows = product(c.y()) / o;
  const Floats x = random(product(c.x)), w = random(product(c.w)), residual = random(rows * o);
  const Floats gamma = random(o, 0.5, 2), beta = random(o);
  Floats bias = random(o);
  for (float& b : bias) b += offset;
  const auto convolution = [&](NodeRun& n) {
    n.in(TENON_F32, c.x, x).in(TENON_F32, c.w, w);
    c.bias ? n.in(TENON_F32, {o}, bias) : n.absent();
  };
  const Results got = run(4, [&](NodeRun& n) {
    convolution(n);
    n.in(TENON_F32, {o}, gamma).in(TENON_F32, {o}, beta);
    if (c.residual) n.in(TENON_F32, c.y(), residual);
    n.out(TENON_F32, c.y()).out(TENON_F32, c.y()).out(TENON_F32, {o}).out(TENON_F32, {o});
    plugin::GraphBuilder& node = n.op("cpu.batch_norm.conv");
    convolve(node, c, precision);
    normalize(node, c);
  });
  const Floats t = got.get(0);
  expect_near(t,
              run(1,
                  [&](NodeRun& n) {
                    convolution(n);
                    n.out(TENON_F32, c.y());
                    convolve(n.op("conv_bias_act"), c, TENON_PRECISION_HIGHEST);
                  })
                  .get(0),
              tolerance);
  Doubles mean(o), var(o), y;
  for (size_t i = 0; i < t.size(); ++i) mean[i % o] += static_cast<double>(t[i]) / static_cast<double>(rows);
  for (size_t i = 0; i < t.size(); ++i) var[i % o] += std::pow(t[i] - mean[i % o], 2) / static_cast<double>(rows);
  for (size_t i = 0; i < t.size(); ++i) {
    const size_t j = i % static_cast<size_t>(o);
    const double v =
        (t[i] - mean[j]) / std::sqrt(var[j] + kNormEps) * gamma[j] + beta[j] + (c.residual ? residual[i] : 0.0f);
    y.push_back(c.relu ? std::max(0.0, v) : v);
  }
  expect_near(got.get(2), mean, 1e-6);
  expect_near(got.get(3), var, 1e-5);
  // A mean is rounded to a float, and y is its distance from that.
  expect_near(got.get(1), y, 1e-5 + 1e-5 * static_cast<double>(offset));
}

void NormedConvolution::check_gradient(const NormedCase& c, int precision, double tolerance, bool with_other,
                                       bool by_y) {
  const int64_t k = c.x.back(), rows = product(c.x) / k;
  const Floats dy = random(product(c.y())), w = random(product(c.w)), other = random(rows * k);
  const Floats x = random(rows * k), gamma = random(k, 0.5, 2), beta = random(k), mean = random(k);
  const Floats var = random(k, 0.1f, 2);
  const Floats y = run(1, [&](NodeRun& n) {
                     n.in(TENON_F32, c.x, x).in(TENON_F32, {k}, gamma).in(TENON_F32, {k}, beta);
                     n.in(TENON_F32, {k}, mean).in(TENON_F32, {k}, var).out(TENON_F32, c.x);
                     normalize(n.op("batch_norm_apply"), c);
                   }).get(0);
  const Floats d = run(1, [&](NodeRun& n) {
                     n.in(TENON_F32, c.y(), dy).in(TENON_F32, c.w, w).out(TENON_F32, c.x);
                     convolve(n.op("conv_grad_input"), c, TENON_PRECISION_HIGHEST);
                   }).get(0);
  const auto together = [&](bool mask_by_y) {
    return run(c.bias       ? 5
               : c.residual ? 4
                            : 3,
               [&](NodeRun& n) {
                 n.in(TENON_F32, c.y(), dy).in(TENON_F32, c.w, w);
                 with_other ? n.in(TENON_F32, c.x, other) : n.absent();
                 n.in(TENON_F32, c.x, x).in(TENON_F32, {k}, gamma).in(TENON_F32, {k}, mean).in(TENON_F32, {k}, var);
                 if (c.relu) mask_by_y ? n.in(TENON_F32, c.x, y) : n.absent().in(TENON_F32, {k}, beta);
                 n.out(TENON_F32, c.x).out(TENON_F32, {k}).out(TENON_F32, {k});
                 if (c.residual) n.out(TENON_F32, c.x);
                 if (c.bias && !c.residual) n.no_out();
                 if (c.bias) n.out(TENON_F32, {k});
                 plugin::GraphBuilder& node = n.op("cpu.batch_norm.grad_input");
                 convolve(node, c, precision);
                 normalize(node, c);
               });
  };
  const Results got = together(by_y);
  if (c.relu) {
    EXPECT_EQ(got.bytes, together(!by_y).bytes) << "the mask by x is not the mask by y";
  }

  Doubles dz, dx, dgamma(k), dbeta(k), dbias(k);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t j = i % static_cast<size_t>(k);
    const double g = static_cast<double>(d[i]) + (with_other ? other[i] : 0.0f);
    dz.push_back(c.relu && y[i] <= 0 ? 0 : g);
    dbeta[j] += dz[i];
    dgamma[j] += dz[i] * (x[i] - mean[j]) / std::sqrt(var[j] + kNormEps);
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t j = i % static_cast<size_t>(k);
    const double s = std::sqrt(var[j] + kNormEps), xh = (x[i] - mean[j]) / s, m = static_cast<double>(rows);
    dx.push_back(gamma[j] / s * (dz[i] - dbeta[j] / m - xh * dgamma[j] / m));
    dbias[j] += dx[i];
  }
  const double sums = tolerance * std::sqrt(static_cast<double>(rows));
  expect_near(got.get(1), dgamma, sums);
  expect_near(got.get(2), dbeta, sums);
  expect_near(got.get(0), dx, 10 * tolerance);
  if (c.residual) expect_near(got.get(3), dz, tolerance);
  if (c.bias) expect_near(got.get(4), dbias, 10 * sums);
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
