#include <algorithm>
#include <map>
#include <numeric>

#include "float_bits.h"
#include "isa_test.h"
#include "tenon/abi/optimizer.h"

TENON_DECLARE_WIDE_FAMILY(add_update)

namespace tenon::testing {
namespace {

using Hyper = std::map<std::string, double>;

struct Slot {
  double start;
  Dims dims;  // when not the variable's
  bool other_dims = false;
};
struct Rule {
  std::string op;
  Hyper hyper;
  std::vector<Slot> slots;
  bool present(size_t k) const { return !std::isnan(slots[k].start); }
};
const double kNone = NAN;  // start of an absent slot

struct State {
  Floats p;
  std::vector<Floats> slots;
};
struct Extras {
  float lr = 0.1f, scale = NAN;
  int gate = -1;
  Ints rows;
};

Rule adam(Hyper extra = {}) {
  Rule r{"adam_update", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}}, {{0}, {0}}};
  for (const auto& [k, v] : extra) r.hyper[k] = v;
  if (r.hyper.count("wd")) r.op = "adamw_update";
  if (r.hyper.count("amsgrad")) r.slots.push_back({0});
  return r;
}
Rule rmsprop(double eps, double mu, bool centered) {
  return {"rmsprop_update",
          {{"rho", 0.9}, {"eps", eps}, {"mu", mu}, {"centered", centered}},
          {{0}, {mu ? 0 : kNone}, {centered ? 0 : kNone}}};
}
Rule ftrl(Hyper extra = {}) {
  Rule r{"ftrl_update", {{"lr_power", -0.5}, {"l1", 0}, {"l2_reg", 0}, {"shrink", 0}, {"beta", 0}}, {{0.1}, {0}}};
  for (const auto& [k, v] : extra) r.hyper[k] = v;
  return r;
}
Rule momentum(bool nesterov) { return {"momentum_update", {{"mu", 0.9}, {"nesterov", nesterov}}, {{0}}}; }
Rule adagrad(double start, double eps) { return {"adagrad_update", {{"eps", eps}}, {{start}}}; }
Rule lamb() { return {"lamb_update", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}}, {{0}, {0}}}; }
Rule lion() { return {"lion_update", {{"b1", 0.9}, {"b2", 0.99}}, {{0}}}; }
Rule nadam() { return {"nadam_update", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}}, {{0}, {0}, {1, {}, true}}}; }
Rule adamax() { return {"adamax_update", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}}, {{0}, {0}}}; }
Rule adadelta() { return {"adadelta_update", {{"rho", 0.95}, {"eps", 1e-7}}, {{0}, {0}}}; }
Rule adafactor(const Dims& dims) {
  Rule r{"adafactor_update", {{"eps1", 1e-30}, {"eps2", 1e-3}}, {{0}}};
  if (dims.size() < 2) return r;
  Dims row = dims, column = dims;
  row.pop_back();
  column.erase(column.end() - 2);
  r.slots = {{0, row, true}, {0, column, true}};
  return r;
}
Rule sgd() { return {"sgd_update", {}, {}}; }

std::vector<Rule> all_rules(const Dims& dims) {
  return {sgd(),
          momentum(false),
          momentum(true),
          adam(),
          adam({{"amsgrad", 1}}),
          adam({{"wd", 0.1}}),
          adamax(),
          nadam(),
          adagrad(0.1, 1e-7),
          rmsprop(1e-7, 0, false),
          rmsprop(1e-3, 0.9, true),
          adadelta(),
          ftrl(),
          ftrl({{"lr_power", -0.7}, {"l1", 0.01}, {"l2_reg", 0.02}, {"shrink", 0.05}, {"beta", 0.3}}),
          lamb(),
          lion(),
          adafactor(dims)};
}

State start(const Rule& rule, const Floats& p) {
  State s{p, {}};
  for (const Slot& slot : rule.slots)
    s.slots.push_back(
        Floats(slot.other_dims ? static_cast<size_t>(product(slot.dims)) : p.size(), static_cast<float>(slot.start)));
  return s;
}

// The rules of the op table, in double, a whole variable at a time. G is dense.
void reference(const Rule& rule, const Dims& dims, double lr, double t, const Doubles& g, Doubles& p,
               std::vector<Doubles>& s) {
  const auto h = [&](const char* k) { return rule.hyper.count(k) ? rule.hyper.at(k) : 0.0; };
  const std::string& op = rule.op;
  const double b1 = h("b1"), b2 = h("b2"), eps = h("eps"), wd = h("wd"), mu = h("mu"), rho = h("rho");
  const double c1 = 1 - std::pow(b1, t), c2 = 1 - std::pow(b2, t);
  const size_t n = p.size();
  Doubles G(n), r(n);
  for (size_t i = 0; i < n; ++i) G[i] = g[i];
  const auto ema = [](double& m, double x, double keep) { m = keep * m + (1 - keep) * x; };
  const double now = b1 * (1 - std::pow(0.96, t) / 2), next = b1 * (1 - std::pow(0.96, t + 1) / 2);
  if (op == "nadam_update") s[2][0] *= now;
  for (size_t i = 0; i < n; ++i) {
    if (op == "sgd_update") p[i] -= lr * G[i];
    if (op == "momentum_update")
      s[0][i] = mu * s[0][i] - lr * G[i], p[i] += h("nesterov") ? mu * s[0][i] - lr * G[i] : s[0][i];
    if (op == "adam_update" || op == "adamw_update") {
      p[i] -= lr * wd * p[i];
      ema(s[0][i], G[i], b1), ema(s[1][i], G[i] * G[i], b2);
      if (h("amsgrad")) s[2][i] = std::max(s[2][i], s[1][i]);
      p[i] -= lr * std::sqrt(c2) / c1 * s[0][i] / (std::sqrt(h("amsgrad") ? s[2][i] : s[1][i]) + eps);
    }
    if (op == "adamax_update")
      ema(s[0][i], G[i], b1), s[1][i] = std::max(b2 * s[1][i], std::fabs(G[i])),
                              p[i] -= lr * s[0][i] / c1 / (s[1][i] + eps);
    if (op == "nadam_update") {
      ema(s[0][i], G[i], b1), ema(s[1][i], G[i] * G[i], b2);
      p[i] -= lr * (next * s[0][i] / (1 - s[2][0] * next) + (1 - now) * G[i] / (1 - s[2][0])) /
              (std::sqrt(s[1][i] / c2) + eps);
    }
    if (op == "adagrad_update") s[0][i] += G[i] * G[i], p[i] -= lr * G[i] / std::sqrt(s[0][i] + eps);
    if (op == "rmsprop_update") {
      ema(s[0][i], G[i] * G[i], rho);
      if (h("centered")) ema(s[2][i], G[i], rho);
      double d = lr * G[i] / std::sqrt(s[0][i] - (h("centered") ? s[2][i] * s[2][i] : 0) + eps);
      if (rule.present(1)) d = s[1][i] = mu * s[1][i] + d;
      p[i] -= d;
    }
    if (op == "adadelta_update") {
      ema(s[0][i], G[i] * G[i], rho);
      const double d = G[i] * std::sqrt(s[1][i] + eps) / std::sqrt(s[0][i] + eps);
      ema(s[1][i], d * d, rho), p[i] -= lr * d;
    }
    if (op == "ftrl_update") {
      const double k = -h("lr_power"), before = std::pow(s[0][i], k), after = std::pow(s[0][i] += G[i] * G[i], k);
      const double z = s[1][i] += G[i] + 2 * h("shrink") * p[i] - (after - before) / lr * p[i];
      p[i] = (std::clamp(z, -h("l1"), h("l1")) - z) / (after / lr + 2 * h("l2_reg") + h("beta") / lr);
    }
    if (op == "lamb_update")
      ema(s[0][i], G[i], b1), ema(s[1][i], G[i] * G[i], b2), r[i] = s[0][i] / c1 / (std::sqrt(s[1][i] / c2) + eps);
    if (op == "lion_update") {
      const double c = b1 * s[0][i] + (1 - b1) * G[i];
      p[i] -= lr * ((c > 0) - (c < 0)), ema(s[0][i], G[i], b2);
    }
  }
  const auto norm = [](const Doubles& x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); };
  if (op == "lamb_update") {
    const double ratio = norm(p) == 0 || norm(r) == 0 ? 1 : norm(p) / norm(r);
    for (size_t i = 0; i < n; ++i) p[i] -= lr * ratio * r[i];
  }
  if (op != "adafactor_update") return;
  const double keep = 1 - std::pow(t, -0.8), root = std::sqrt(double(n));
  if (dims.size() < 2) {
    for (size_t i = 0; i < n; ++i) ema(s[0][i], G[i] * G[i] + h("eps1"), keep), r[i] = G[i] / std::sqrt(s[0][i]);
  } else {
    const size_t N = size_t(dims.back()), M = size_t(dims[dims.size() - 2]);
    for (size_t b = 0; b < n / (M * N); ++b) {
      Doubles row(M), column(N);
      double mean = 0;
      for (size_t m = 0; m < M; ++m)
        for (size_t j = 0; j < N; ++j)
          row[m] += std::pow(G[(b * M + m) * N + j], 2) + h("eps1"),
              column[j] += std::pow(G[(b * M + m) * N + j], 2) + h("eps1");
      for (size_t m = 0; m < M; ++m)
        ema(s[0][b * M + m], row[m] / double(N), keep), mean += s[0][b * M + m] / double(M);
      for (size_t j = 0; j < N; ++j) ema(s[1][b * N + j], column[j] / double(M), keep);
      for (size_t m = 0; m < M; ++m)
        for (size_t j = 0; j < N; ++j)
          r[(b * M + m) * N + j] = G[(b * M + m) * N + j] / std::sqrt(s[0][b * M + m] * s[1][b * N + j] / mean);
    }
  }
  const double rate =
      std::max(h("eps2"), norm(p) / root) * std::min(lr, 1 / std::sqrt(t)) / std::max(1.0, norm(r) / root);
  for (size_t i = 0; i < n; ++i) p[i] -= rate * r[i];
}

class Updates : public IsaTest {
 protected:
  Updates() { TENON_USE_WIDE_FAMILY(add_update); }
  static std::vector<uint8_t> bytes_of(int32_t dtype, const Floats& x) {
    std::vector<uint8_t> b(x.size() * static_cast<size_t>(plugin::dtype_bytes(dtype)));
    const Doubles d(x.begin(), x.end());
    const auto h = plugin::dtype_bytes(dtype) == 2 ? to_halves(dtype, x) : std::vector<uint16_t>();
    const void* from = dtype == TENON_F64   ? static_cast<const void*>(d.data())
                       : dtype == TENON_F32 ? static_cast<const void*>(x.data())
                                            : h.data();
    if (!b.empty()) std::memcpy(b.data(), from, b.size());
    return b;
  }
  static Floats floats_of(int32_t dtype, const Results& r, size_t i) {
    if (dtype == TENON_F32) return r.get(i);
    if (dtype != TENON_F64) return from_halves(dtype, r.get<uint16_t>(i));
    const Doubles d = r.get<double>(i);
    return Floats(d.begin(), d.end());
  }
  // One update; g has `rows.size()` rows if there are rows.
  State update(const Rule& rule, const Dims& dims, const State& s, const Floats& g, int64_t step, const Extras& x = {},
               int32_t dtype = TENON_F32) {
    Dims g_dims = dims;
    if (!x.rows.empty()) g_dims[0] = static_cast<int64_t>(x.rows.size());
    std::vector<size_t> where;  // results that are there
    const Results r = run(1 + count(rule), [&](NodeRun& n) {
      n.in(dtype, dims, bytes_of(dtype, s.p)).in(dtype, g_dims, bytes_of(dtype, g));
      n.in(TENON_F32, {}, Floats{x.lr}).in(TENON_I64, {}, std::vector<int64_t>{step});
      if (std::isnan(x.scale))
        n.absent();
      else
        n.in(TENON_F32, {}, Floats{x.scale});
      if (x.gate < 0)
        n.absent();
      else
        n.in(TENON_BOOL, {}, std::vector<uint8_t>{static_cast<uint8_t>(x.gate)});
      if (x.rows.empty())
        n.absent();
      else
        n.in(TENON_I32, {static_cast<int64_t>(x.rows.size())}, x.rows);
      n.out(dtype, dims);
      for (size_t k = 0; k < rule.slots.size(); ++k) {
        const Dims d = rule.slots[k].other_dims ? rule.slots[k].dims : dims;
        // The harness has no absent results: an absent slot's lies idle.
        if (rule.present(k))
          n.in(dtype, d, bytes_of(dtype, s.slots[k]));
        else
          n.absent();
        n.out(dtype, d);
      }
      plugin::GraphBuilder& b = n.op(rule.op.c_str());
      for (const auto& [k, v] : rule.hyper) {
        if (k == "nesterov" || k == "amsgrad" || k == "centered")
          b.attr_bool(k, v != 0);
        else
          b.attr_f64(k, v);
      }
    });
    State out{floats_of(dtype, r, 0), {}};
    for (size_t k = 0; k < rule.slots.size(); ++k)
      out.slots.push_back(rule.present(k) ? floats_of(dtype, r, 1 + k) : s.slots[k]);
    return out;
  }
  static size_t count(const Rule& rule) { return rule.slots.size(); }

  void expect_matches(const Rule& rule, const Dims& dims, int steps, const Extras& x, int32_t dtype = TENON_F32,
                      double tolerance = 2e-5) {
    SCOPED_TRACE(rule.op + (rule.hyper.count("amsgrad") ? " amsgrad" : "") + " of " + plugin::dtype_name(dtype));
    State s = start(rule, random(product(dims)));
    Doubles p(s.p.begin(), s.p.end());
    std::vector<Doubles> slots;
    for (const Floats& f : s.slots) slots.emplace_back(f.begin(), f.end());
    const int64_t width = product(dims) / (dims.empty() ? 1 : dims[0]);
    for (int step = 0; step < steps; ++step) {
      const Floats g = random(x.rows.empty() ? product(dims) : width * static_cast<int64_t>(x.rows.size()));
      Doubles dense(p.size());
      const double scale = std::isnan(x.scale) ? 1 : x.scale;
      for (size_t i = 0; i < g.size(); ++i) {
        const size_t w = static_cast<size_t>(width);
        if (x.rows.empty())
          dense[i] = scale * g[i];
        else if (x.rows[i / w] >= 0 && x.rows[i / w] < dims[0])
          dense[static_cast<size_t>(x.rows[i / w]) * w + i % w] += scale * g[i];
      }
      s = update(rule, dims, s, g, step, x, dtype);
      reference(rule, dims, x.lr, step + 1, dense, p, slots);
      ASSERT_NO_FATAL_FAILURE(expect_near(s.p, p, tolerance));
      for (size_t k = 0; k < slots.size(); ++k) {
        if (!rule.present(k)) continue;
        ASSERT_NO_FATAL_FAILURE(expect_near(s.slots[k], slots[k], tolerance));
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, Updates, ::testing::ValuesIn(wide_isas()), [](const auto& info) { return info.param; });

// w0, w1 after three steps, from optimizers.csv.
std::vector<Floats> golden(const std::string& key) {
  const Floats v = golden_row("optimizers.csv", key);
  if (v.size() < 6) return {};
  return {{v[0], v[1]}, {v[2], v[3]}, {v[4], v[5]}};
}

TEST_P(Updates, FollowKerasThroughThreeSteps) {
  const std::pair<const char*, Rule> kRows[] = {
      {"SGD,\"learning_rate=0.1\"", sgd()},
      {"SGD,\"learning_rate=0.1, momentum=0.9\"", momentum(false)},
      {"SGD,\"learning_rate=0.1, momentum=0.9, nesterov=True\"", momentum(true)},
      {"Adam,\"learning_rate=0.1\"", adam()},
      {"Adam,\"learning_rate=0.1, epsilon=0.1\"", adam({{"eps", 0.1}})},
      {"Adam,\"learning_rate=0.1, beta_2=0.5, amsgrad=True\"", adam({{"b2", 0.5}, {"amsgrad", 1}})},
      {"AdamW,\"learning_rate=0.1\"", adam({{"wd", 0.004}})},
      {"AdamW,\"learning_rate=0.1, weight_decay=0.1\"", adam({{"wd", 0.1}})},
      {"Adamax,\"learning_rate=0.1\"", adamax()},
      {"Nadam,\"learning_rate=0.1\"", nadam()},
      {"Adagrad,\"learning_rate=0.1\"", adagrad(0.1, 1e-7)},
      {"Adagrad,\"learning_rate=0.1, initial_accumulator_value=0.0, epsilon=0.1\"", adagrad(0, 0.1)},
      {"Adadelta,\"learning_rate=0.1\"", adadelta()},
      {"RMSprop,\"learning_rate=0.1\"", rmsprop(1e-7, 0, false)},
      {"RMSprop,\"learning_rate=0.1, epsilon=0.1\"", rmsprop(0.1, 0, false)},
      {"RMSprop,\"learning_rate=0.1, momentum=0.9\"", rmsprop(1e-7, 0.9, false)},
      {"RMSprop,\"learning_rate=0.1, epsilon=0.1, centered=True\"", rmsprop(0.1, 0, true)},
      {"RMSprop,\"learning_rate=0.1, momentum=0.9, centered=True\"", rmsprop(1e-7, 0.9, true)},
      {"Ftrl,\"learning_rate=0.1\"", ftrl()},
      {"Ftrl,\"learning_rate=0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02\"",
       ftrl({{"l1", 0.01}, {"l2_reg", 0.02}})},
      {"Ftrl,\"learning_rate=0.1, l2_shrinkage_regularization_strength=0.05\"", ftrl({{"shrink", 0.05}})},
      {"Ftrl,\"learning_rate=0.1, beta=0.3\"", ftrl({{"beta", 0.3}})},
      {"Ftrl,\"learning_rate=0.1, learning_rate_power=-0.7\"", ftrl({{"lr_power", -0.7}})},
      {"Adafactor,\"learning_rate=0.1\"", adafactor({2})},
      {"Lamb,\"learning_rate=0.1\"", lamb()},
      {"Lion,\"learning_rate=0.1\"", lion()},
  };
  const Floats gradients[] = {{0.5f, -1}, {0.25f, 0.5f}, {-0.125f, 2}};
  for (const auto& [key, rule] : kRows) {
    SCOPED_TRACE(key);
    const auto want = golden(std::string("keras3,") + key);
    ASSERT_EQ(want.size(), 3u);
    // One over sqrt(1e-7) is all that keeps RMSprop's first centred step finite; it magnifies rounding.
    const double tolerance =
        rule.op == "rmsprop_update" && rule.hyper.at("centered") && rule.hyper.at("eps") < 1e-3 ? 2e-5 : 2e-6;
    State s = start(rule, {1, -2});
    for (int step = 0; step < 3; ++step) {
      s = update(rule, {2}, s, gradients[step], step);
      ASSERT_NO_FATAL_FAILURE(expect_near(s.p, want[static_cast<size_t>(step)], tolerance)) << "step " << step;
    }
  }
}

TEST_P(Updates, FollowTheirFormulasOnAnyShape) {
  for (const Dims& dims : {Dims{}, Dims{5}, Dims{4, 16}, Dims{3, 7, 11}, Dims{130, 130}})
    for (const Rule& rule : all_rules(dims)) expect_matches(rule, dims, product(dims) > 1000 ? 1 : 3, {});
}

TEST_P(Updates, ScaleMultipliesTheGradient) {
  Extras x;
  x.scale = 0.25f;
  for (const Rule& rule : all_rules({6, 9})) expect_matches(rule, {6, 9}, 2, x);
}

TEST_P(Updates, GateFalseKeepsEverythingAndTrueUpdates) {
  Extras closed, open;
  closed.gate = 0, open.gate = 1;
  for (const Dims& dims : {Dims{3, 4}, Dims{170, 100}})
    for (const Rule& rule : all_rules(dims)) {
      const State s = start(rule, random(product(dims)));
      const Floats g = random(product(dims));
      const State kept = update(rule, dims, s, g, 0, closed), moved = update(rule, dims, s, g, 0, open);
      EXPECT_EQ(kept.p, s.p) << rule.op;
      EXPECT_NE(moved.p, s.p) << rule.op;
      for (size_t k = 0; k < s.slots.size(); ++k)
        EXPECT_TRUE(!rule.present(k) || kept.slots[k] == s.slots[k]) << rule.op;
    }
}

// Repeated rows add, rows outside are dropped, and rows that are not given move as with a gradient of 0.
TEST_P(Updates, GradientsByRowsEqualTheDenseOnesTheyScatterInto) {
  Extras x;
  x.rows = {3, 0, 3, 99, -1, 5, 3};
  for (const Dims& dims : {Dims{6, 4}, Dims{7}, Dims{6, 2, 300}, Dims{9, 1900}})
    for (const Rule& rule : all_rules(dims))
      expect_matches(rule, dims, product(dims) > 10000 ? 1 : 2, x, TENON_F32, 5e-5);
}

TEST_P(Updates, DoublesAndSixteenBitTypesUpdateToo) {
  const Dims dims = {40, 33};
  Extras by_rows;
  by_rows.rows = {1, 39, 1};
  for (const Rule& rule : all_rules(dims)) {
    expect_matches(rule, dims, 1, {}, TENON_F64, 1e-6);
    expect_matches(rule, dims, 1, by_rows, TENON_F64, 1e-6);
  }
  for (const Rule& rule : {sgd(), momentum(true), adam(), lamb(), lion()}) {
    expect_matches(rule, dims, 1, {}, TENON_BF16, 2e-2);
    expect_matches(rule, dims, 1, by_rows, TENON_F16, 2e-3);
  }
  expect_matches(lamb(), {170, 100}, 1, by_rows, TENON_BF16, 2e-2);
}

TEST_P(Updates, LambTakesTheRatioAsOneWhereANormIsZero) {
  const State s = update(lamb(), {3}, start(lamb(), {0, 0, 0}), {1, -2, 3}, 0);
  expect_near(s.p, Floats{-0.1f, 0.1f, -0.1f}, 1e-6);
}

TEST_P(Updates, RunsInPlace) {
  Floats p = random(40000), m(40000), v(40000), g = random(40000);
  float lr = 0.1f;
  int64_t step = 0;
  const State want = update(adam(), {40000}, start(adam(), p), g, 0);
  plugin::GraphBuilder b;
  std::vector<uint32_t> in, out;
  for (int i = 0; i < 2; ++i) in.push_back(b.input(TENON_F32, {40000}, TENON_ROLE_STATE));
  in.push_back(b.input(TENON_F32, {}, TENON_ROLE_SCALAR));
  in.push_back(b.input(TENON_I64, {}, TENON_ROLE_STATE));
  for (int i = 0; i < 3; ++i) in.push_back(TENON_NONE);
  for (int i = 0; i < 2; ++i) in.push_back(b.input(TENON_F32, {40000}, TENON_ROLE_STATE));
  for (int i = 0; i < 3; ++i) out.push_back(b.value(TENON_F32, {40000}));
  b.node("adam_update", in, out).name("n").attr_f64("b1", 0.9).attr_f64("b2", 0.999).attr_f64("eps", 1e-7);
  const plugin::FlatGraph flat = b.build();
  const plugin::Kernel kernel = table_.find("adam_update", 1)->make(plugin::GraphView(*flat.graph()).node(0), {});
  EXPECT_EQ(kernel.in_place, (std::vector<std::pair<int, int>>{{0, 0}, {7, 1}, {8, 2}}));
  const auto raw = [](auto& x) { return reinterpret_cast<uint8_t*>(x.data()); };
  uint8_t* bases[] = {raw(p), raw(g), reinterpret_cast<uint8_t*>(&lr), reinterpret_cast<uint8_t*>(&step),
                      raw(m), raw(v)};
  const plugin::Place operands[] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {}, {}, {}, {4, 0}, {5, 0}},
                      results[] = {{0, 0}, {4, 0}, {5, 0}};
  plugin::Barrier barrier;
  plugin::Call call;
  call.bases_ = bases, call.operands_ = operands, call.results_ = results, call.barrier_ = &barrier;
  kernel.run(call);
  EXPECT_EQ(p, want.p);
  EXPECT_EQ(m, want.slots[0]);
  EXPECT_EQ(v, want.slots[1]);
}

TEST_P(Updates, RefusesMissingSlotsAndStrangeGradients) {
  const auto verdict = [&](const char* op, int slots, const Dims& g_dims, bool rows) {
    plugin::GraphBuilder b;
    std::vector<uint32_t> in = {b.input(TENON_F32, {4, 3}, TENON_ROLE_STATE),
                                b.input(TENON_F32, g_dims, TENON_ROLE_FEED),
                                b.input(TENON_F32, {}, TENON_ROLE_SCALAR),
                                b.input(TENON_I64, {}, TENON_ROLE_STATE),
                                TENON_NONE,
                                TENON_NONE,
                                rows ? b.input(TENON_I64, {2}, TENON_ROLE_FEED) : TENON_NONE};
    std::vector<uint32_t> out = {b.value(TENON_F32, {4, 3})};
    for (int i = 0; i < slots; ++i)
      in.push_back(b.input(TENON_F32, {4, 3}, TENON_ROLE_STATE)), out.push_back(b.value(TENON_F32, {4, 3}));
    b.node(op, in, out).name("n");
    const plugin::FlatGraph flat = b.build();
    return table_.find(op, 1)->accept(plugin::GraphView(*flat.graph()).node(0)).answer;
  };
  EXPECT_EQ(verdict("adam_update", 2, {4, 3}, false), TENON_TAKE);
  EXPECT_EQ(verdict("adam_update", 1, {4, 3}, false), TENON_REFUSE);
  EXPECT_EQ(verdict("adam_update", 2, {3, 4}, false), TENON_REFUSE);
  EXPECT_EQ(verdict("sgd_update", 0, {2, 3}, true), TENON_TAKE);
  EXPECT_EQ(verdict("sgd_update", 0, {3, 3}, true), TENON_REFUSE);
}

}  // namespace
}  // namespace tenon::testing
