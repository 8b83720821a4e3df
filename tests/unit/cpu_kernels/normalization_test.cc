#include <algorithm>
#include <functional>

#include "isa_test.h"

TENON_DECLARE_FAMILY(add_layer_norm)
TENON_DECLARE_WIDE_FAMILY(add_normalization)

namespace tenon::testing {
class Normalization : public IsaTest {
 protected:
  Normalization() {
    TENON_USE_FAMILY(add_layer_norm);
    TENON_USE_WIDE_FAMILY(add_normalization);
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, Normalization, ::testing::ValuesIn(wide_isas()),
                         [](const auto& info) { return info.param; });
}  // namespace tenon::testing

namespace tenon::testing {
namespace {

Floats floats(const Doubles& v) { return Floats(v.begin(), v.end()); }

// Elements of x fall into statistics groups (stat) and share parameters (param); all in f64.
struct NormProblem {
  Floats x, gamma, beta, dy;
  std::vector<size_t> stat, param;
  size_t stats;
  double eps = 1e-3;
  bool center = true;
};
struct NormSolution {
  Doubles mean, var, xh, y, dx, dgamma, dbeta;
};
// dz is the gradient that reaches xh gamma + beta.
NormSolution solve_norm(const NormProblem& p, const std::function<double(size_t, double)>& dz) {
  NormSolution s;
  s.mean.assign(p.stats, 0);
  s.var.assign(p.stats, 0);
  s.dgamma.assign(p.gamma.size(), 0);
  s.dbeta.assign(p.gamma.size(), 0);
  Doubles count(p.stats, 0), sum(p.stats, 0), dot(p.stats, 0);
  for (size_t i = 0; i < p.x.size(); ++i) count[p.stat[i]] += 1, s.mean[p.stat[i]] += p.center ? p.x[i] : 0;
  for (size_t k = 0; k < p.stats; ++k) s.mean[k] /= count[k];
  for (size_t i = 0; i < p.x.size(); ++i)
    s.var[p.stat[i]] += std::pow(p.x[i] - s.mean[p.stat[i]], 2) / count[p.stat[i]];
  for (size_t i = 0; i < p.x.size(); ++i) {
    s.xh.push_back((p.x[i] - s.mean[p.stat[i]]) / std::sqrt(s.var[p.stat[i]] + p.eps));
    s.y.push_back(s.xh[i] * p.gamma[p.param[i]] + (p.beta.empty() ? 0 : p.beta[p.param[i]]));
  }
  Doubles g;
  for (size_t i = 0; i < p.x.size(); ++i) {
    g.push_back(dz(i, s.y[i]));
    s.dgamma[p.param[i]] += g[i] * s.xh[i];
    s.dbeta[p.param[i]] += g[i];
    sum[p.stat[i]] += g[i] * p.gamma[p.param[i]] / count[p.stat[i]];
    dot[p.stat[i]] += g[i] * p.gamma[p.param[i]] * s.xh[i] / count[p.stat[i]];
  }
  for (size_t i = 0; i < p.x.size(); ++i)
    s.dx.push_back((g[i] * p.gamma[p.param[i]] - (p.center ? sum[p.stat[i]] : 0) - s.xh[i] * dot[p.stat[i]]) /
                   std::sqrt(s.var[p.stat[i]] + p.eps));
  return s;
}

class BatchNorm : public Normalization {
 protected:
  NormProblem problem(int64_t m, int64_t c) {
    NormProblem p{random(m * c, -1, 3), random(c, 0.5, 2), random(c), random(m * c), {}, {}, static_cast<size_t>(c)};
    for (size_t i = 0; i < p.x.size(); ++i) p.stat.push_back(i % static_cast<size_t>(c));
    p.param = p.stat;
    return p;
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, BatchNorm, ::testing::ValuesIn(isas()), [](const auto& info) { return info.param; });

const std::vector<std::pair<Dims, int64_t>> kNormShapes = {
    {{2}, 1}, {{1}, 7}, {{5}, 3}, {{33}, 16}, {{2, 31, 7}, 10}, {{2, 20, 20}, 64}, {{37}, 1030}, {{3, 3}, 2051}};

TEST_P(BatchNorm, ForwardEqualsTheDefinition) {
  for (const auto& [lead, c] : kNormShapes) {
    const int64_t m = product(lead);
    const NormProblem p = problem(m, c);
    const Floats residual = random(m * c);
    const NormSolution s = solve_norm(p, [](size_t, double) { return 0; });
    Dims dims = lead;
    dims.push_back(c);
    for (int64_t act : {TENON_ACT_NONE, TENON_ACT_RELU, TENON_ACT_SIGMOID})
      for (bool with_residual : {false, true}) {
        Doubles y = s.y;
        for (size_t i = 0; i < y.size(); ++i) {
          y[i] += with_residual ? residual[i] : 0;
          y[i] = act == TENON_ACT_RELU      ? std::max(0.0, y[i])
                 : act == TENON_ACT_SIGMOID ? 1 / (1 + std::exp(-y[i]))
                                            : y[i];
        }
        const Results r = run(3, [&](NodeRun& n) {
          n.in(TENON_F32, dims, p.x).in(TENON_F32, {c}, p.gamma).in(TENON_F32, {c}, p.beta);
          if (with_residual) n.in(TENON_F32, dims, residual);
          n.out(TENON_F32, dims)
              .out(TENON_F32, {c})
              .out(TENON_F32, {c})
              .op("batch_norm")
              .attr_f64("eps", p.eps)
              .attr_enum("act", act);
        });
        expect_near(r.get(0), y, 1e-5);
        expect_near(r.get(1), s.mean, 1e-6);
        expect_near(r.get(2), s.var, 2e-6);
        const Results a = run(1, [&](NodeRun& n) {
          n.in(TENON_F32, dims, p.x)
              .in(TENON_F32, {c}, p.gamma)
              .in(TENON_F32, {c}, p.beta)
              .in(TENON_F32, {c}, floats(s.mean))
              .in(TENON_F32, {c}, floats(s.var));
          if (with_residual) n.in(TENON_F32, dims, residual);
          n.out(TENON_F32, dims).op("batch_norm_apply").attr_f64("eps", p.eps).attr_enum("act", act);
        });
        expect_near(a.get(0), y, 1e-5);
      }
  }
}

TEST_P(BatchNorm, GradientEqualsTheDefinition) {
  for (const auto& [lead, c] : kNormShapes) {
    const int64_t m = product(lead);
    const NormProblem p = problem(m, c);
    Dims dims = lead;
    dims.push_back(c);
    for (int64_t act : {TENON_ACT_NONE, TENON_ACT_RELU, TENON_ACT_TANH, TENON_ACT_SILU})
      for (bool with_residual : {false, true}) {
        const bool by_argument = act == TENON_ACT_SILU;
        if (by_argument && with_residual) continue;
        Floats y;
        Doubles dz;
        const NormSolution s = solve_norm(p, [&](size_t i, double z) {
          y.push_back(static_cast<float>(act == TENON_ACT_RELU   ? std::max(0.0, z)
                                         : act == TENON_ACT_TANH ? std::tanh(z)
                                                                 : z));
          const double slope = act == TENON_ACT_RELU   ? z > 0
                               : act == TENON_ACT_TANH ? 1 - std::pow(std::tanh(z), 2)
                               : by_argument           ? sigmoid(z) * (1 + z * (1 - sigmoid(z)))
                                                       : 1;
          dz.push_back(p.dy[i] * slope);
          return dz.back();
        });
        const Results r = run(with_residual ? 4 : 3, [&](NodeRun& n) {
          n.in(TENON_F32, dims, p.dy)
              .in(TENON_F32, dims, p.x)
              .in(TENON_F32, {c}, p.gamma)
              .in(TENON_F32, {c}, floats(s.mean))
              .in(TENON_F32, {c}, floats(s.var));
          if (by_argument) n.absent().in(TENON_F32, {c}, p.beta);
          if (act != TENON_ACT_NONE && !by_argument) n.in(TENON_F32, dims, y);
          n.out(TENON_F32, dims).out(TENON_F32, {c}).out(TENON_F32, {c});
          if (with_residual) n.out(TENON_F32, dims);
          n.op(by_argument ? "cpu.batch_norm_grad" : "batch_norm_grad").attr_f64("eps", p.eps).attr_enum("act", act);
        });
        expect_near(r.get(0), s.dx, 1e-4);
        expect_near(r.get(1), s.dgamma, 1e-4);
        expect_near(r.get(2), s.dbeta, 1e-4);
        if (with_residual) expect_near(r.get(3), dz, 1e-6);
      }
  }
}

TEST_P(BatchNorm, AMeanFarFromZeroDoesNotSpoilTheVariance) {
  Floats x(20000 * 8);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 4096.f + static_cast<float>(i / 8 % 2);
  const Results r = run(3, [&](NodeRun& n) {
    n.in(TENON_F32, {20000, 8}, x)
        .in(TENON_F32, {8}, Floats(8, 1))
        .in(TENON_F32, {8}, Floats(8, 0))
        .out(TENON_F32, {20000, 8})
        .out(TENON_F32, {8})
        .out(TENON_F32, {8})
        .op("batch_norm")
        .attr_f64("eps", 0);
  });
  for (float v : r.get(2)) EXPECT_NEAR(v, 0.25, 1e-5);
  EXPECT_NEAR(r.get(0)[0], -1, 1e-3);
}

TEST_P(BatchNorm, NarrowOperandsAreNormalisedInF32) {
  const std::vector<uint16_t> x = {0x3F80, 0xBF80, 0x3F80, 0xBF80}, one = {0x3F80}, zero = {0};
  const Results r = run(3, [&](NodeRun& n) {
    n.in(TENON_BF16, {4, 1}, x)
        .in(TENON_BF16, {1}, one)
        .in(TENON_BF16, {1}, zero)
        .out(TENON_BF16, {4, 1})
        .out(TENON_F32, {1})
        .out(TENON_F32, {1})
        .op("batch_norm")
        .attr_f64("eps", 0);
  });
  EXPECT_EQ(r.get<uint16_t>(0), x);
  EXPECT_EQ(r.get(2), Floats{1});
}

// ---- layer_norm ----

struct LayerCase {
  const char* name;
  Dims x, axes, gamma;
};
const std::vector<LayerCase> kLayers = {{"layer", {1, 1}, {1}, {1}},
                                        {"layer", {3, 7}, {1}, {7}},
                                        {"layer", {2, 33, 64}, {2}, {64}},
                                        {"layer", {40, 513}, {1}, {513}},
                                        {"last two", {5, 4, 6}, {1, 2}, {4, 6}},
                                        {"several gammas", {5, 4, 6}, {2}, {4, 6}},
                                        {"whole", {24}, {0}, {24}},
                                        {"instance", {2, 5, 7, 3}, {1, 2}, {3}},
                                        {"instance", {2, 40, 23, 20}, {1, 2}, {20}},
                                        {"group", {2, 5, 7, 3, 4}, {1, 2, 4}, {3, 4}},
                                        {"group", {2, 25, 25, 4, 8}, {1, 2, 4}, {4, 8}},
                                        {"one sample", {50, 9}, {0}, {9}}};

NormProblem layer_problem(const LayerCase& c, std::function<Floats(int64_t, float, float)> random, bool center) {
  const int64_t n = product(c.x), parameters = product(c.gamma);
  NormProblem p{random(n, -1, 3), random(parameters, 0.5, 2), random(parameters, -1, 1), random(n, -1, 1), {}, {}, 1};
  for (int64_t e = 0; e < n; ++e) {
    int64_t rest = e, stat = 0, scale = 1;
    for (size_t d = c.x.size(); d-- > 0;) {
      if (std::find(c.axes.begin(), c.axes.end(), static_cast<int64_t>(d)) == c.axes.end())
        stat += rest % c.x[d] * scale, scale *= c.x[d];
      rest /= c.x[d];
    }
    p.stat.push_back(static_cast<size_t>(stat));
    p.param.push_back(static_cast<size_t>(e % parameters));
    p.stats = static_cast<size_t>(scale);
  }
  p.center = center;
  return p;
}

// x = -1, 1 in turn, so that xh is x, and the gradient of a dy that is the same everywhere vanishes.
TEST_P(Normalization, RowsOfBf16AreNormalisedInF32) {
  for (const int64_t n : {2, 16, 22, 128}) {
    const Dims dims = {3, n}, one = {n}, row = {3};
    std::vector<uint16_t> x, dy;
    for (int64_t i = 0; i < 3 * n; ++i) x.push_back(i % 2 ? 0x3F80 : 0xBF80), dy.push_back(0x4040);  // 3
    const Floats gamma(static_cast<size_t>(n), 2), beta(static_cast<size_t>(n), 0.5f);
    const Results f = run(3, [&](NodeRun& node) {
      node.in(TENON_BF16, dims, x).in(TENON_F32, one, gamma).in(TENON_F32, one, beta);
      node.out(TENON_BF16, dims).out(TENON_F32, row).out(TENON_F32, row);
      node.op("layer_norm").attr_f64("eps", 0).attr_list("axes", {1});
    });
    const auto y = f.get<uint16_t>(0);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], i % 2 ? 0x4020 : 0xBFC0) << n << " at " << i;  // 2.5, -1.5
    EXPECT_EQ(f.get(1), Floats(3, 0));
    EXPECT_EQ(f.get(2), Floats(3, 1));
    const Results b = run(3, [&](NodeRun& node) {
      node.in(TENON_BF16, dims, dy).in(TENON_BF16, dims, x).in(TENON_F32, one, gamma);
      node.in(TENON_F32, row, f.get(1)).in(TENON_F32, row, f.get(2));
      node.out(TENON_BF16, dims).out(TENON_F32, one).out(TENON_F32, one);
      node.op("layer_norm_grad").attr_f64("eps", 0).attr_list("axes", {1});
    });
    for (uint16_t d : b.get<uint16_t>(0)) EXPECT_EQ(d & 0x7fff, 0) << n;
    for (size_t i = 0; i < gamma.size(); ++i) {
      EXPECT_EQ(b.get(1)[i], i % 2 ? 9 : -9);
      EXPECT_EQ(b.get(2)[i], 9);
    }
  }
}

TEST_P(Normalization, LayerInstanceAndGroupEqualTheDefinition) {
  for (const LayerCase& c : kLayers)
    for (bool center : {true, false})
      for (bool beta : {true, false}) {
        SCOPED_TRACE(c.name);
        NormProblem p = layer_problem(
            c, [this](int64_t n, float a, float b) { return random(n, a, b); }, center);
        if (!beta) p.beta.clear();
        const NormSolution s = solve_norm(p, [&](size_t i, double) { return p.dy[i]; });
        Dims kept;
        for (size_t d = 0; d < c.x.size(); ++d)
          if (std::find(c.axes.begin(), c.axes.end(), static_cast<int64_t>(d)) == c.axes.end()) kept.push_back(c.x[d]);
        const Results f = run(3, [&](NodeRun& n) {
          n.in(TENON_F32, c.x, p.x).in(TENON_F32, c.gamma, p.gamma);
          if (beta) n.in(TENON_F32, c.gamma, p.beta);
          n.out(TENON_F32, c.x)
              .out(TENON_F32, kept)
              .out(TENON_F32, kept)
              .op("layer_norm")
              .attr_f64("eps", p.eps)
              .attr_list("axes", c.axes)
              .attr_bool("center", center);
        });
        expect_near(f.get(0), s.y, 1e-5);
        expect_near(f.get(1), s.mean, 1e-6);
        expect_near(f.get(2), s.var, 1e-5);
        const Results b = run(beta ? 3 : 2, [&](NodeRun& n) {
          n.in(TENON_F32, c.x, p.dy)
              .in(TENON_F32, c.x, p.x)
              .in(TENON_F32, c.gamma, p.gamma)
              .in(TENON_F32, kept, f.get(1))
              .in(TENON_F32, kept, f.get(2))
              .out(TENON_F32, c.x)
              .out(TENON_F32, c.gamma);
          if (beta) n.out(TENON_F32, c.gamma);
          n.op("layer_norm_grad").attr_f64("eps", p.eps).attr_list("axes", c.axes).attr_bool("center", center);
        });
        expect_near(b.get(0), s.dx, 1e-4);
        expect_near(b.get(1), s.dgamma, 1e-4);
        if (beta) expect_near(b.get(2), s.dbeta, 1e-4);
      }
}

TEST_P(BatchNorm, StatisticsOverReplicasAreLeftToTheDecomposition) {
  plugin::GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {2, 3}, TENON_ROLE_FEED), c = b.input(TENON_F32, {3}, TENON_ROLE_FEED);
  for (int64_t group : {0, 1, 2}) b.node("batch_norm", {x, c, c}, {x, c, c}).attr_i64("group", group);
  const plugin::FlatGraph flat = b.build();
  const plugin::GraphView graph(*flat.graph());
  for (uint32_t i : {0u, 1u, 2u})
    EXPECT_EQ(table_.find("batch_norm", 1)->accept(graph.node(i)).answer, i == 1 ? TENON_TAKE : TENON_DECOMPOSE);
}

TEST_P(Normalization, WhatItDoesNotDoWholeIsDecomposed) {
  plugin::GraphBuilder b;
  const uint32_t x = b.input(TENON_F64, {2, 3}, TENON_ROLE_FEED), gamma = b.input(TENON_F64, {3}, TENON_ROLE_FEED);
  const uint32_t y = b.value(TENON_F64, {2, 3}), m = b.value(TENON_F64, {2}), v = b.value(TENON_F64, {2});
  b.node("layer_norm", {x, gamma}, {y, m, v}).attr_list("axes", {1});
  const plugin::FlatGraph flat = b.build();
  const plugin::GraphView graph(*flat.graph());
  EXPECT_EQ(table_.find("layer_norm", 1)->accept(graph.node(0)).answer, TENON_DECOMPOSE);
}

}  // namespace
}  // namespace tenon::testing
