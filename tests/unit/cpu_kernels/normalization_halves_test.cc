// Batch norm of bf16, of which no f32 copy is made, beside f64.
#include <algorithm>

#include "pairs_fixture.h"

TENON_WIDE_FAMILY_FIXTURE(HalfNorm, add_normalization)

namespace tenon::testing {
namespace {

constexpr double kHalfEps = 1e-3;

struct HalfNormCase {
  int64_t rows, c;
  int act;
  bool residual;
};
const HalfNormCase kHalfNormCases[] = {
    {5, 3, TENON_ACT_RELU, false},   {1200, 16, TENON_ACT_RELU, true}, {301, 40, TENON_ACT_NONE, false},
    {77, 130, TENON_ACT_NONE, true}, {64, 72, TENON_ACT_RELU6, true},  // an activation of tiles
};

double activated(int act, double v) {
  return act == TENON_ACT_NONE ? v : std::min(std::max(v, 0.0), act == TENON_ACT_RELU6 ? 6.0 : 1e30);
}

TEST_P(HalfNorm, IsThatOfF64Rounded) {
  for (const HalfNormCase& c : kHalfNormCases) {
    SCOPED_TRACE(c.rows);
    const size_t n = static_cast<size_t>(c.c);
    const Halves x = to_halves(TENON_BF16, random(c.rows * c.c)),
                 residual = to_halves(TENON_BF16, random(c.rows * c.c));
    const Floats gamma = random(c.c, 0.5, 2), beta = random(c.c);
    const Results got = run(3, [&](NodeRun& node) {
      node.in(TENON_BF16, {c.rows, c.c}, x).in(TENON_F32, {c.c}, gamma).in(TENON_F32, {c.c}, beta);
      if (c.residual) node.in(TENON_BF16, {c.rows, c.c}, residual);
      node.out(TENON_BF16, {c.rows, c.c}).out(TENON_F32, {c.c}).out(TENON_F32, {c.c});
      node.op("batch_norm").attr_f64("eps", kHalfEps).attr_enum("act", c.act);
    });
    const Doubles v = values_of(x), r = values_of(residual);
    Doubles mean(n), var(n), y;
    for (size_t i = 0; i < v.size(); ++i) mean[i % n] += v[i] / static_cast<double>(c.rows);
    for (size_t i = 0; i < v.size(); ++i) var[i % n] += std::pow(v[i] - mean[i % n], 2) / static_cast<double>(c.rows);
    for (size_t i = 0; i < v.size(); ++i)
      y.push_back(activated(c.act, (v[i] - mean[i % n]) / std::sqrt(var[i % n] + kHalfEps) * gamma[i % n] +
                                       beta[i % n] + (c.residual ? r[i] : 0)));
    expect_near(got.get(1), mean, 1e-6);
    expect_near(got.get(2), var, 1e-6);
    expect_rounded(got.get<uint16_t>(0), y, 1e-5);
  }
}

TEST_P(HalfNorm, GradientIsThatOfF64Rounded) {
  for (const HalfNormCase& c : kHalfNormCases) {
    SCOPED_TRACE(c.rows);
    const size_t n = static_cast<size_t>(c.c);
    const Halves x = to_halves(TENON_BF16, random(c.rows * c.c)), dy = to_halves(TENON_BF16, random(c.rows * c.c));
    const Halves y = to_halves(TENON_BF16, random(c.rows * c.c, -2, 8));
    const Floats gamma = random(c.c, 0.5, 2), mean = random(c.c), var = random(c.c, 0.1f, 2);
    const Results got = run(c.residual ? 4 : 3, [&](NodeRun& node) {
      node.in(TENON_BF16, {c.rows, c.c}, dy).in(TENON_BF16, {c.rows, c.c}, x).in(TENON_F32, {c.c}, gamma);
      node.in(TENON_F32, {c.c}, mean).in(TENON_F32, {c.c}, var);
      if (c.act != TENON_ACT_NONE) node.in(TENON_BF16, {c.rows, c.c}, y);
      node.out(TENON_BF16, {c.rows, c.c}).out(TENON_F32, {c.c}).out(TENON_F32, {c.c});
      if (c.residual) node.out(TENON_BF16, {c.rows, c.c});
      node.op("batch_norm_grad").attr_f64("eps", kHalfEps).attr_enum("act", c.act);
    });
    const Doubles vx = values_of(x), vy = values_of(y), g = values_of(dy);
    Doubles dz, dx, hat, dgamma(n), dbeta(n);
    for (size_t i = 0; i < g.size(); ++i) {
      const bool passes = c.act == TENON_ACT_NONE || (vy[i] > 0 && (c.act == TENON_ACT_RELU || vy[i] < 6));
      dz.push_back(passes ? g[i] : 0);
      hat.push_back((vx[i] - static_cast<double>(mean[i % n])) / std::sqrt(var[i % n] + kHalfEps));
      dbeta[i % n] += dz[i];
      dgamma[i % n] += dz[i] * hat[i];
    }
    for (size_t i = 0; i < g.size(); ++i) {
      const double m = static_cast<double>(c.rows), s = std::sqrt(var[i % n] + kHalfEps);
      dx.push_back(gamma[i % n] / s * (dz[i] - dbeta[i % n] / m - hat[i] * dgamma[i % n] / m));
    }
    expect_near(got.get(1), dgamma, 1e-4);
    expect_near(got.get(2), dbeta, 1e-4);
    expect_rounded(got.get<uint16_t>(0), dx, 1e-4);
    if (c.residual) expect_rounded(got.get<uint16_t>(3), dz, 0);
  }
}

}  // namespace
}  // namespace tenon::testing
