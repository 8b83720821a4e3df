// Updates of variables: Keras's published steps, the rules' formulas at their edges, rows, gates and 16-bit variables.
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "unit/op/op_testing.h"

namespace tenon::op_testing {
namespace {

struct Rule {
  std::string op;
  Attrs attrs;
  std::vector<double> first = {};  // each slot's first value
};

// An update's operands beside p, g and the slots; empty ones are absent.
struct Call {
  double lr = 0.1;
  int step = 0;
  Feed scale, gate, rows;
};

bool given(const Feed& f) { return !f.values.empty(); }

// p', slots'. Feeds: p, g, then the slots.
std::vector<Evaluated> update(const Rule& rule, const Feed& p, const Feed& g, const std::vector<Feed>& slots,
                              const Call& call = {}) {
  std::vector<Feed> feeds{p, g, f32({}, {call.lr}), of(DType::kI64, {}, {double(call.step)})};
  std::vector<int> at;  // place of scale, gate and rows among the feeds
  for (const Feed* f : {&call.scale, &call.gate, &call.rows}) {
    at.push_back(given(*f) ? static_cast<int>(feeds.size()) : -1);
    if (given(*f)) feeds.push_back(*f);
  }
  const size_t first_slot = feeds.size();
  feeds.insert(feeds.end(), slots.begin(), slots.end());
  return evaluate(
      [&](const Tensors& x) {
        Tensors operands(x.begin(), x.begin() + 4);
        for (int i : at) operands.push_back(i < 0 ? Tensor() : x[static_cast<size_t>(i)]);
        operands.insert(operands.end(), x.begin() + static_cast<long>(first_slot), x.end());
        return emit_all(rule.op, operands, rule.attrs);
      },
      feeds);
}

std::vector<Feed> start(const Rule& rule, const Shape& shape, DType dtype = DType::kF64) {
  std::vector<Feed> slots;
  for (size_t k = 0; k < rule.first.size(); ++k) {
    const bool scalar = rule.op == "nadam_update" && k == 2;
    Shape s = scalar ? Shape{} : shape;
    if (rule.op == "adafactor_update" && shape.rank() == 2) s = {shape[static_cast<int>(k)]};
    slots.push_back(of(dtype, s, Doubles(static_cast<size_t>(s.elements()), rule.first[k])));
  }
  return slots;
}

Rule sgd() { return {"sgd_update", {}}; }
Rule momentum(bool nesterov) { return {"momentum_update", {{"mu", 0.9}, {"nesterov", nesterov}}, {0}}; }
Rule adam(double b2 = 0.999, double eps = 1e-7, bool amsgrad = false) {
  Rule r{"adam_update", {{"b1", 0.9}, {"b2", b2}, {"eps", eps}, {"amsgrad", amsgrad}}, {0, 0}};
  if (amsgrad) r.first.push_back(0);
  return r;
}
Rule adamw(double wd) { return {"adamw_update", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}, {"wd", wd}}, {0, 0}}; }
Rule adamax() { return {"adamax_update", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}}, {0, 0}}; }
Rule nadam() { return {"nadam_update", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}}, {0, 0, 1}}; }
Rule adagrad(double first, double eps) { return {"adagrad_update", {{"eps", eps}}, {first}}; }
Rule adadelta() { return {"adadelta_update", {{"rho", 0.95}, {"eps", 1e-7}}, {0, 0}}; }
Rule rmsprop(double eps, double mu, bool centered) {
  Rule r{"rmsprop_update", {{"rho", 0.9}, {"mu", mu}, {"eps", eps}, {"centered", centered}}, {0}};
  if (mu > 0 || centered) r.first.push_back(0);
  if (centered) r.first.push_back(0);
  return r;
}
Rule ftrl(Attrs attrs = {}) { return {"ftrl_update", std::move(attrs), {0.1, 0}}; }
Rule lamb() { return {"lamb_update", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}}, {0, 0}}; }
Rule lion() { return {"lion_update", {{"b1", 0.9}, {"b2", 0.99}}, {0}}; }
Rule adafactor(int slots) { return {"adafactor_update", {}, std::vector<double>(static_cast<size_t>(slots), 0)}; }

std::vector<Rule> all_rules() {
  return {sgd(),
          momentum(true),
          adam(0.999, 1e-7, true),
          adamw(0.1),
          adamax(),
          nadam(),
          adagrad(0.1, 1e-7),
          rmsprop(1e-3, 0.9, true),
          adadelta(),
          ftrl({{"l1", 0.01}, {"beta", 0.3}}),
          lamb(),
          lion(),
          adafactor(1)};
}

// The values after `key` in a golden file.
Doubles golden(const char* file_name, const std::string& key) {
  std::ifstream file(std::string(TENON_GOLDEN "/") + file_name);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key + ",", 0) != 0) continue;
    std::istringstream rest(line.substr(key.size() + 1));
    Doubles v;
    for (std::string cell; std::getline(rest, cell, ',');) v.push_back(std::stod(cell));
    return v;
  }
  return {};
}

// Runs three steps from w against w after each, in `want` one after the other.
void expect_steps(const Rule& rule, const Shape& shape, const Doubles& w, const std::vector<Doubles>& gradients,
                  const Doubles& want, double tolerance) {
  ASSERT_EQ(want.size(), w.size() * gradients.size());
  Feed p = f64(shape, w);
  std::vector<Feed> slots = start(rule, shape);
  for (size_t step = 0; step < gradients.size(); ++step) {
    Call call;
    call.step = static_cast<int>(step);
    const auto next = update(rule, p, f64(shape, gradients[step]), slots, call);
    ASSERT_EQ(next.size(), 1 + slots.size());
    p.values = next[0].values;
    for (size_t k = 0; k < slots.size(); ++k) slots[k].values = next[k + 1].values;
    for (size_t i = 0; i < w.size(); ++i) {
      const double expected = want[step * w.size() + i];
      EXPECT_NEAR(p.values[i], expected, tolerance * std::fabs(expected)) << "step " << step << ", element " << i;
    }
  }
}

TEST(Updates, FollowKerasThroughThreeSteps) {
  const std::pair<const char*, Rule> kRows[] = {
      {"SGD,\"learning_rate=0.1\"", sgd()},
      {"SGD,\"learning_rate=0.1, momentum=0.9\"", momentum(false)},
      {"SGD,\"learning_rate=0.1, momentum=0.9, nesterov=True\"", momentum(true)},
      {"Adam,\"learning_rate=0.1\"", adam()},
      {"Adam,\"learning_rate=0.1, epsilon=0.1\"", adam(0.999, 0.1)},
      {"Adam,\"learning_rate=0.1, amsgrad=True\"", adam(0.999, 1e-7, true)},
      {"Adam,\"learning_rate=0.1, beta_2=0.5, amsgrad=True\"", adam(0.5, 1e-7, true)},
      {"AdamW,\"learning_rate=0.1\"", adamw(0.004)},
      {"AdamW,\"learning_rate=0.1, weight_decay=0.1\"", adamw(0.1)},
      {"Adamax,\"learning_rate=0.1\"", adamax()},
      {"Nadam,\"learning_rate=0.1\"", nadam()},
      {"Adagrad,\"learning_rate=0.1\"", adagrad(0.1, 1e-7)},
      {"Adagrad,\"learning_rate=0.1, initial_accumulator_value=0.0, epsilon=0.1\"", adagrad(0, 0.1)},
      {"Adadelta,\"learning_rate=0.1\"", adadelta()},
      {"RMSprop,\"learning_rate=0.1\"", rmsprop(1e-7, 0, false)},
      {"RMSprop,\"learning_rate=0.1, epsilon=0.1\"", rmsprop(0.1, 0, false)},
      {"RMSprop,\"learning_rate=0.1, momentum=0.9\"", rmsprop(1e-7, 0.9, false)},
      {"RMSprop,\"learning_rate=0.1, centered=True\"", rmsprop(1e-7, 0, true)},
      {"RMSprop,\"learning_rate=0.1, epsilon=0.1, centered=True\"", rmsprop(0.1, 0, true)},
      {"RMSprop,\"learning_rate=0.1, momentum=0.9, centered=True\"", rmsprop(1e-7, 0.9, true)},
      {"Ftrl,\"learning_rate=0.1\"", ftrl()},
      {"Ftrl,\"learning_rate=0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02\"",
       ftrl({{"l1", 0.01}, {"l2_reg", 0.02}})},
      {"Ftrl,\"learning_rate=0.1, l2_shrinkage_regularization_strength=0.05\"", ftrl({{"shrink", 0.05}})},
      {"Ftrl,\"learning_rate=0.1, beta=0.3\"", ftrl({{"beta", 0.3}})},
      {"Ftrl,\"learning_rate=0.1, learning_rate_power=-0.7\"", ftrl({{"lr_power", -0.7}})},
      {"Adafactor,\"learning_rate=0.1\"", adafactor(1)},
      {"Lamb,\"learning_rate=0.1\"", lamb()},
      {"Lion,\"learning_rate=0.1\"", lion()},
  };
  for (const auto& [key, rule] : kRows) {
    SCOPED_TRACE(key);
    expect_steps(rule, {2}, {1, -2}, {{0.5, -1}, {0.25, 0.5}, {-0.125, 2}},
                 golden("optimizers.csv", std::string("keras3,") + key), 1e-5);
  }
}

TEST(Updates, FollowKerasOnMatrices) {
  const std::pair<const char*, Rule> kRows[] = {{"Adafactor,\"learning_rate=0.1\"", adafactor(2)},
                                                {"Lamb,\"learning_rate=0.1\"", lamb()}};
  for (const auto& [key, rule] : kRows) {
    SCOPED_TRACE(key);
    expect_steps(rule, {2, 2}, {1, -2, 0.5, 3}, {{0.5, -1, 0.25, 0.5}, {-0.125, 2, 1, -0.5}, {0.75, 0.25, -0.5, 1.5}},
                 golden("optimizers_matrix.csv", std::string("keras3,") + key), 1e-5);
  }
}

TEST(Updates, ScaleTheGradient) {
  Call call;
  call.scale = f32({}, {0.5});
  // 2 - 0.1 * 0.5 * 4
  const Doubles p = update(sgd(), f64({1}, {2}), f64({1}, {4}), {}, call)[0].values;
  expect_near(p, {1.8}, 1e-8);
}

TEST(Updates, RowsOfTheGradientAddUpAndThoseOutsideAreDropped) {
  const Feed p = f64({3, 2}, {1, 2, 3, 4, 5, 6});
  Call call;
  call.lr = 1;
  call.rows = of(DType::kI32, {5}, {2, 0, 2, -1, 3});
  const Feed g = f64({5, 2}, {1, 1, 10, 20, 2, 3, 100, 100, 100, 100});
  expect_near(update(sgd(), p, g, {}, call)[0].values, {-9, -18, 3, 4, 2, 2});
  call.rows = of(DType::kI64, {5}, {2, 0, 2, -1, 3});
  expect_near(update(sgd(), p, g, {}, call)[0].values, {-9, -18, 3, 4, 2, 2});
}

TEST(Updates, ByRowsEqualTheDenseOnes) {
  const Feed p = noise({3, 2}, 1);
  Call dense, rows;
  dense.step = rows.step = 4;
  rows.rows = of(DType::kI64, {1}, {1});
  for (const Rule& rule : {momentum(false), adam(), lamb(), adafactor(2)}) {
    SCOPED_TRACE(rule.op);
    std::vector<Feed> slots = start(rule, {3, 2});
    for (Feed& s : slots) s = noise(s.type.shape, 3, 0.1, 1);
    const auto a = update(rule, p, f64({3, 2}, {0, 0, 0.5, -2, 0, 0}), slots, dense);
    const auto b = update(rule, p, f64({1, 2}, {0.5, -2}), slots, rows);
    for (size_t i = 0; i < a.size(); ++i) expect_near(b[i].values, a[i].values);
  }
}

TEST(Updates, AClosedGateReturnsTheInputsEvenBesideNaN) {
  Call call;
  call.step = 2;
  for (const Rule& rule : all_rules()) {
    SCOPED_TRACE(rule.op);
    std::vector<Feed> slots = start(rule, {2});
    for (Feed& s : slots) s = noise(s.type.shape, 5, 0.1, 1);
    call.gate = of(DType::kBool, {}, {0});
    const auto kept = update(rule, f64({2}, {1, -2}), f64({2}, {kNaN, kInf}), slots, call);
    EXPECT_EQ(kept[0].values, (Doubles{1, -2}));
    for (size_t k = 0; k < slots.size(); ++k) EXPECT_EQ(kept[k + 1].values, slots[k].values);
    call.gate = of(DType::kBool, {}, {1});
    Call open = call;
    open.gate = {};
    const auto a = update(rule, f64({2}, {1, -2}), f64({2}, {0.5, 3}), slots, call);
    const auto b = update(rule, f64({2}, {1, -2}), f64({2}, {0.5, 3}), slots, open);
    for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].values, b[i].values);
  }
}

TEST(Updates, LambTakesThePlainStepWhereANormIsZero) {
  const Rule rule = lamb();
  // First step: r = G / (|G| + eps) = 1.
  expect_near(update(rule, f64({2}, {0, 0}), f64({2}, {3, -4}), start(rule, {2}))[0].values, {-0.1, 0.1}, 1e-6);
  expect_near(update(rule, f64({2}, {3, 4}), f64({2}, {0, 0}), start(rule, {2}))[0].values, {3, 4});
}

TEST(Updates, AdafactorFactorsEachMatrixOfAStackAlone) {
  const Rule rule = adafactor(2);
  const Feed p = f64({2, 2, 2}, {1, -2, 0.5, 3, 1, -2, 0.5, 3}),
             g = f64({2, 2, 2}, {0.5, -1, 0.25, 0.5, 5, -10, 2.5, 5});
  const std::vector<Feed> slots{f64({2, 2}, Doubles(4, 0)), f64({2, 2}, Doubles(4, 0))};
  const auto next = update(rule, p, g, slots);
  // A gradient ten times as large has the same direction.
  EXPECT_NEAR(next[0].values[0], next[0].values[4], 1e-12);
  EXPECT_NEAR(next[0].values[3], next[0].values[7], 1e-12);
  expect_near(next[1].values, {0.625, 0.15625, 62.5, 15.625});
  expect_near(next[2].values, {0.15625, 0.625, 15.625, 62.5});
}

TEST(Updates, NadamKeepsTheProductOfItsSchedule) {
  Call call;
  call.step = 1;
  std::vector<Feed> slots = start(nadam(), {1});
  slots[2].values = {0.468};
  const auto next = update(nadam(), f64({1}, {1}), f64({1}, {1}), slots, call);
  expect_near(next[3].values, {0.468 * 0.9 * (1 - 0.5 * 0.96 * 0.96)});
}

TEST(Updates, OfHalfVariablesRoundOnce) {
  const Build step = [](const Tensors& x) { return emit_all("sgd_update", {x[0], x[1], x[2], x[3], x[4]}); };
  const auto bf16 = [](double v) { return of(DType::kBF16, {1}, {v}); };
  const Doubles p =
      rounded_value(step, {bf16(256), bf16(4), f32({}, {1}), of(DType::kI64, {}, {0}), f32({}, {0.8745})});
  // 256 - 3.498 = 252.502. A gradient that was rounded to bf16 first, 3.5, would give 252.
  EXPECT_EQ(p, (Doubles{253}));
}

TEST(Updates, KeepTheirTypesInEveryDtype) {
  for (const Rule& rule : all_rules()) {
    SCOPED_TRACE(rule.op);
    std::vector<Type> types{{DType::kF64, {4}}, {DType::kF64, {4}}, {DType::kF32, {}}, {DType::kI64, {}}};
    for (const Feed& s : start(rule, {4})) types.push_back(s.type);
    expect_types_survive_lowering(
        [&](const Tensors& x) {
          Tensors operands{x[0], x[1], x[2], x[3], {}, {}, {}};
          operands.insert(operands.end(), x.begin() + 4, x.end());
          return emit_all(rule.op, operands, rule.attrs);
        },
        types);
  }
}

std::string error(const Rule& rule, const std::vector<Type>& types, const std::vector<int>& order) {
  return error_of(
      [&](const Tensors& x) {
        Tensors operands;
        for (int i : order) operands.push_back(i < 0 ? Tensor() : x[static_cast<size_t>(i)]);
        return emit_all(rule.op, operands, rule.attrs);
      },
      types);
}

TEST(Updates, NameTheOperandThatDoesNotFit) {
  const Type p{DType::kF32, {4, 2}}, lr{DType::kF32, {}}, step{DType::kI64, {}}, rows{DType::kI32, {3}};
  const Type other{DType::kF32, {3, 2}};
  EXPECT_EQ(error(sgd(), {p, other, lr, step}, {0, 1, 2, 3}),
            "sgd_update 'sgd_update': operand 1 'g' has shape [3,2], expected [4,2]");
  EXPECT_EQ(error(sgd(), {p, p, {DType::kF64, {}}, step}, {0, 1, 2, 3}),
            "sgd_update 'sgd_update': operand 2 'lr' is f64[], expected f32[]");
  EXPECT_EQ(error(sgd(), {p, p, lr, step, rows}, {0, 1, 2, 3, -1, -1, 4}),
            "sgd_update 'sgd_update': operand 1 'g' has shape [4,2], expected [3,2]");
  EXPECT_EQ(error(adam(0.999, 1e-7, true), {p, p, lr, step}, {0, 1, 2, 3, -1, -1, -1, 0, 1}),
            "adam_update 'adam_update': has 2 slots, expected 3");
  EXPECT_EQ(error(rmsprop(1e-7, 0, true), {p, p, lr, step}, {0, 1, 2, 3, -1, -1, -1, 0, -1, 1}),
            "rmsprop_update 'rmsprop_update': operand 9 'a' is given, operand 8 'u' before it is not");
  EXPECT_EQ(error(adafactor(2), {p, p, lr, step}, {0, 1, 2, 3, -1, -1, -1, 0, 1}),
            "adafactor_update 'adafactor_update': operand 7 'r' is f32[4,2], expected f32[4]");
}

}  // namespace
}  // namespace tenon::op_testing
