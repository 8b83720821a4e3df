// A convolution of bf16 and its batch norm in one node: the convolution has the bits that it has alone, and the norm is that
// of f64, rounded once; so are their gradients.
#include <algorithm>

#include "pairs_fixture.h"
#include "tenon/plugin/element.h"

namespace tenon::cpu::baseline {
void narrow(int32_t dtype, const float* from, void* to, int64_t n);
}
namespace tenon::cpu::avx2 {
void narrow(int32_t dtype, const float* from, void* to, int64_t n);
}
namespace tenon::cpu::avx512 {
void narrow(int32_t dtype, const float* from, void* to, int64_t n);
}

namespace tenon::testing {
namespace {

constexpr double kEps = 1e-3;

struct HalvesCase {
  Dims x;
  int64_t kernel, o, stride;
  bool bias, relu, residual, other, by_y;
  int64_t groups = 1;
  bool six = false;  // ReLU6 instead of ReLU
  int act() const { return six ? TENON_ACT_RELU6 : relu ? TENON_ACT_RELU : TENON_ACT_NONE; }
  double clipped(double v) const { return !relu ? v : six ? std::clamp(v, 0.0, 6.0) : std::max(0.0, v); }
  bool passes(double y) const { return !relu || (y > 0 && (!six || y < 6)); }
  int64_t low() const { return kernel / 2; }
  Dims w() const { return {kernel, kernel, x[3] / groups, o}; }
  Dims y() const {
    const auto size = [&](int64_t n) { return (n + 2 * low() - kernel) / stride + 1; };
    return {x[0], size(x[1]), size(x[2]), o};
  }
};

const HalvesCase kHalvesCases[] = {
    {{3, 13, 18, 16}, 3, 16, 1, true, true, false, true, false},            // Winograd's, tiles beyond the image
    {{9, 7, 7, 64}, 3, 130, 1, false, true, true, false, true},             // several parts of channels
    {{3, 15, 17, 16}, 3, 32, 2, true, true, true, true, true},              // gathered
    {{2, 21, 20, 6}, 5, 12, 1, false, false, false, false, false},          // the same, few channels
    {{2, 12, 11, 3}, 3, 8, 1, true, true, false, true, true},               // no pairs of channels
    {{4, 12, 12, 24}, 1, 72, 1, false, true, false, true, false},           // a product
    {{2, 14, 14, 20}, 1, 36, 2, true, true, false, false, true},            // points of x that no tap reads
    {{1, 1, 4, 512}, 1, 16, 1, false, true, true, false, true},             // sums in parts
    {{3, 15, 14, 24}, 3, 24, 1, true, true, false, true, false, 24, true},  // depthwise
    {{2, 16, 15, 40}, 5, 40, 2, false, true, true, false, true, 40},
};

class NormedHalves : public Pairs {
 protected:
  Halves halves(int64_t n, float low = -1, float high = 1) { return to_halves(TENON_BF16, random(n, low, high)); }
  static void convolve(plugin::GraphBuilder& node, const HalvesCase& c) {
    node.attr_list("strides", {c.stride, c.stride}).attr_list("dilation", {1, 1}).attr_i64("groups", c.groups);
    node.attr_list("low", {c.low(), c.low()}).attr_list("high", {c.low(), c.low()});
  }
  static void normalize(plugin::GraphBuilder& node, const HalvesCase& c) {
    node.attr_f64("eps", kEps).attr_enum("act", c.act());
  }
  void check_forward(const HalvesCase& c);
  void check_gradient(const HalvesCase& c);
};
INSTANTIATE_TEST_SUITE_P(Isa, NormedHalves, ::testing::ValuesIn(pair_isas()),
                         [](const auto& info) { return info.param; });

void NormedHalves::check_forward(const HalvesCase& c) {
  const int64_t rows = product(c.y()) / c.o;
  const Halves x = halves(product(c.x)), w = halves(product(c.w())), bias = halves(c.o), residual = halves(rows * c.o);
  const Floats gamma = random(c.o, 0.5, 2), beta = random(c.o);
  const auto convolution = [&](NodeRun& n) {
    n.in(TENON_BF16, c.x, x).in(TENON_BF16, c.w(), w);
    c.bias ? n.in(TENON_BF16, {c.o}, bias) : n.absent();
  };
  const Results got = run(4, [&](NodeRun& n) {
    convolution(n);
    n.in(TENON_F32, {c.o}, gamma).in(TENON_F32, {c.o}, beta);
    if (c.residual) n.in(TENON_BF16, c.y(), residual);
    n.out(TENON_BF16, c.y()).out(TENON_BF16, c.y()).out(TENON_F32, {c.o}).out(TENON_F32, {c.o});
    plugin::GraphBuilder& node = n.op("cpu.batch_norm.conv");
    convolve(node, c);
    normalize(node, c);
  });
  const Results alone = run(1, [&](NodeRun& n) {
    convolution(n);
    n.out(TENON_BF16, c.y());
    convolve(n.op("conv_bias_act"), c);
  });
  EXPECT_EQ(got.bytes[0], alone.bytes[0]);
  const Doubles t = values_of(got.get<uint16_t>(0)), r = values_of(residual);
  Doubles mean(c.o), var(c.o), y;
  const auto channel = [&](size_t i) { return i % static_cast<size_t>(c.o); };
  for (size_t i = 0; i < t.size(); ++i) mean[channel(i)] += t[i] / static_cast<double>(rows);
  for (size_t i = 0; i < t.size(); ++i)
    var[channel(i)] += std::pow(t[i] - mean[channel(i)], 2) / static_cast<double>(rows);
  for (size_t i = 0; i < t.size(); ++i) {
    const size_t j = channel(i);
    const double v = (t[i] - mean[j]) / std::sqrt(var[j] + kEps) * gamma[j] + beta[j] + (c.residual ? r[i] : 0);
    y.push_back(c.clipped(v));
  }
  expect_near(got.get(2), mean, 1e-6);
  expect_near(got.get(3), var, 1e-5);
  expect_rounded(got.get<uint16_t>(1), y, 1e-4);
}

void NormedHalves::check_gradient(const HalvesCase& c) {
  const int64_t k = c.x.back(), rows = product(c.x) / k;
  const Halves dy = halves(product(c.y())), w = halves(product(c.w())), other = halves(rows * k), x = halves(rows * k);
  const Floats gamma = random(k, 0.5, 2), beta = random(k), mean = random(k), var = random(k, 0.1f, 2);
  const auto channel = [&](size_t i) { return i % static_cast<size_t>(k); };
  const Doubles vx = values_of(x), vo = values_of(other);
  Doubles hat;
  Halves y;
  for (size_t i = 0; i < vx.size(); ++i) {
    const size_t j = channel(i);
    hat.push_back((vx[i] - mean[j]) / std::sqrt(var[j] + kEps));
    y.push_back(plugin::Bf16(c.clipped(hat[i] * gamma[j] + beta[j])).bits);
  }
  const Results alone = run(1, [&](NodeRun& n) {
    n.in(TENON_BF16, c.y(), dy).in(TENON_BF16, c.w(), w).out(TENON_BF16, c.x);
    convolve(n.op("conv_grad_input"), c);
  });
  const Results got = run(5, [&](NodeRun& n) {
    n.in(TENON_BF16, c.y(), dy).in(TENON_BF16, c.w(), w);
    c.other ? n.in(TENON_BF16, c.x, other) : n.absent();
    n.in(TENON_BF16, c.x, x).in(TENON_F32, {k}, gamma).in(TENON_F32, {k}, mean).in(TENON_F32, {k}, var);
    if (c.relu) c.by_y ? n.in(TENON_BF16, c.x, y) : n.absent().in(TENON_F32, {k}, beta);
    n.out(TENON_BF16, c.x).out(TENON_F32, {k}).out(TENON_F32, {k});
    c.residual ? n.out(TENON_BF16, c.x) : n.no_out();
    n.out(TENON_BF16, {k});
    plugin::GraphBuilder& node = n.op("cpu.batch_norm.grad_input");
    convolve(node, c);
    normalize(node, c);
  });
  const Doubles d = values_of(alone.get<uint16_t>(0)), vy = values_of(y);
  Doubles dz, dx, dgamma(k), dbeta(k), dbias(k);
  for (size_t i = 0; i < d.size(); ++i) {
    dz.push_back(c.passes(vy[i]) ? d[i] + (c.other ? vo[i] : 0) : 0);
    dbeta[channel(i)] += dz[i];
    dgamma[channel(i)] += dz[i] * hat[i];
  }
  for (size_t i = 0; i < d.size(); ++i) {
    const size_t j = channel(i);
    const double m = static_cast<double>(rows), s = std::sqrt(var[j] + kEps);
    dx.push_back(gamma[j] / s * (dz[i] - dbeta[j] / m - hat[i] * dgamma[j] / m));
    dbias[j] += dx[i];
  }
  // What was added is rounded before it goes on.
  double size = 0;
  for (const double v : dz) size = std::max(size, std::abs(v));
  const double rounding = c.other ? 12 * size / 256 : 1e-3 * size, sums = 1e-4 * size * static_cast<double>(rows);
  expect_near(got.get(1), dgamma, sums);
  expect_near(got.get(2), dbeta, sums);
  expect_rounded(got.get<uint16_t>(0), dx, rounding);
  if (c.residual) expect_rounded(got.get<uint16_t>(3), dz, 1e-5 * size);
  expect_rounded(got.get<uint16_t>(4), dbias, rounding * std::sqrt(static_cast<double>(rows)));
}

TEST_P(NormedHalves, AreConvolutionThenNorm) {
  for (const HalvesCase& c : kHalvesCases) {
    SCOPED_TRACE(::testing::PrintToString(c.x));
    check_forward(c);
  }
}

TEST_P(NormedHalves, GradientIsConvolutionsThenNorms) {
  for (const HalvesCase& c : kHalvesCases) {
    SCOPED_TRACE(::testing::PrintToString(c.x));
    check_gradient(c);
  }
}

TEST_P(NormedHalves, RoundsEveryFloatToNearestEven) {
  const auto narrow = GetParam() == "baseline" ? cpu::baseline::narrow
                      : GetParam() == "avx2"   ? cpu::avx2::narrow
                                               : cpu::avx512::narrow;
  Floats all;
  for (uint32_t high = 0; high < 0x10000; ++high)
    for (const uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) all.push_back(from_bits(high << 16 | low));
  Halves got(all.size());
  narrow(TENON_BF16, all.data(), got.data(), static_cast<int64_t>(all.size()));
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(got[i], plugin::Bf16(all[i]).bits) << all[i];
}

}  // namespace
}  // namespace tenon::testing
