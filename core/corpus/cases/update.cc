// Optimizer updates: one step of each, and ten in a row.
#include "base/strings.h"
#include "corpus/corpus.h"
#include "op/op.h"

namespace tenon::corpus {
namespace {

struct Slot {
  double low, high;
  int drop = 0;  // -1, -2: p's shape without that axis; 1: a scalar
};

struct Rule {
  const char* op;
  const char* what;
  Attrs attrs;
  std::vector<Slot> slots;
};

const Rule kRules[] = {
    {"sgd_update", "", {}, {}},
    {"momentum_update", "", {{"mu", 0.9}}, {{-1, 1}}},
    {"momentum_update", "nesterov", {{"mu", 0.9}, {"nesterov", true}}, {{-1, 1}}},
    {"adam_update", "", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}}, {{-1, 1}, {0.1, 1}}},
    {"adam_update",
     "amsgrad",
     {{"b1", 0.9}, {"b2", 0.99}, {"eps", 1e-3}, {"amsgrad", true}},
     {{-1, 1}, {0.1, 1}, {0.1, 2}}},
    {"adamw_update", "", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}, {"wd", 0.1}}, {{-1, 1}, {0.1, 1}}},
    {"adamax_update", "", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}}, {{-1, 1}, {0.1, 1}}},
    {"nadam_update", "", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}}, {{-1, 1}, {0.1, 1}, {0.2, 0.8, 1}}},
    {"adagrad_update", "", {{"eps", 1e-7}}, {{0.1, 1}}},
    {"adadelta_update", "", {{"rho", 0.95}, {"eps", 1e-7}}, {{0.1, 1}, {0.1, 1}}},
    {"rmsprop_update", "", {{"rho", 0.9}, {"eps", 1e-7}}, {{0.1, 1}}},
    {"rmsprop_update", "momentum", {{"rho", 0.9}, {"eps", 1e-3}, {"mu", 0.9}}, {{0.1, 1}, {-1, 1}}},
    {"rmsprop_update",
     "centered",
     {{"rho", 0.9}, {"eps", 1e-3}, {"mu", 0.5}, {"centered", true}},
     {{0.5, 1}, {-1, 1}, {-0.1, 0.1}}},
    {"ftrl_update", "", {}, {{0.1, 1}, {-1, 1}}},
    {"ftrl_update",
     "all",
     {{"l1", 0.3}, {"l2_reg", 0.02}, {"shrink", 0.05}, {"beta", 0.3}, {"lr_power", -0.7}},
     {{0.1, 1}, {-1, 1}}},
    {"lamb_update", "", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}}, {{-1, 1}, {0.1, 1}}},
    {"lion_update", "", {{"b1", 0.9}, {"b2", 0.99}}, {{-1, 1}}},
    {"adafactor_update", "", {}, {{0.1, 1, -1}, {0.1, 1, -2}}},
};

Shape slot_shape(const Shape& p, const Slot& slot) {
  if (slot.drop > 0) return {};
  std::vector<int64_t> dims = p.vec();
  if (slot.drop < 0 && dims.size() >= 2) dims.erase(dims.end() + slot.drop);
  return Shape(dims);
}

// What an update has beside p, g, lr, step and slots.
struct Extra {
  const char* name;
  bool scale = false;
  Doubles gate = {};  // of each step; empty: none
  bool rows = false;
};
const Extra kPlain{"plain"};
const Extra kExtras[] = {
    kPlain, {"scaled", true}, {"closed", false, {0}}, {"open", true, {1}}, {"rows", false, {}, true}};
const Extra kTenStepExtras[] = {kPlain, {"scaled", true}, {"gated", true, {1, 0, 1, 1, 0}}, {"rows", false, {}, true}};

Input stepwise(Input input) {
  input.fill.each_step = true;
  return input;
}
Input state(Input input) {
  input.role = Role::kState;
  return input;
}

// The operands of an update, in order; one that it does not have is of no use to the graph and left out.
struct Operands {
  Inputs inputs;
  Attrs attrs;
  std::string op;
  bool scale, gate, rows;

  Tensors results(const Tensors& x) const {
    Tensors operands{x[0], x[1], x[2], x[3], scale ? x[4] : Tensor(), gate ? x[5] : Tensor(), rows ? x[6] : Tensor()};
    operands.insert(operands.end(), x.begin() + 7, x.end());
    return emit_all(op, operands, attrs);
  }
};

Operands operands(const Rule& rule, DType t, const Shape& shape, const Extra& extra) {
  Operands out{{}, rule.attrs, rule.op, extra.scale, !extra.gate.empty(), extra.rows};
  Shape given = shape;
  if (extra.rows) given.set(0, 4);
  out.inputs = {state(uniform(t, shape, 1)),
                stepwise(uniform(t, given, 2, 0.1, 1)),
                one(DType::kF32, 0.0625, Role::kScalar),
                step_of(6),
                one(DType::kF32, 0.5),
                stepwise(values(DType::kBool, {}, extra.gate.empty() ? Doubles{1} : extra.gate)),
                stepwise(values(DType::kI64, {4}, {1, -1, 0, 1, 0, 0, 2, 9}))};
  uint64_t seed = 10;
  for (const Slot& s : rule.slots) {
    if (shape.rank() < 2 && s.drop == -2) continue;  // adafactor keeps one slot of a vector
    out.inputs.push_back(state(uniform(t, slot_shape(shape, s), seed++, s.low, s.high)));
  }
  return out;
}

std::string name_of_update(const Rule& rule, DType t, const Shape& shape, const Extra& extra) {
  return cat(name_of({t, shape}), *rule.what ? " " : "", rule.what, " ", extra.name);
}

void add_one_step(Cases& cases, const Rule& rule, DType t, const Shape& shape, const Extra& extra) {
  if (extra.rows && shape[0] < 2) return;
  const Operands o = operands(rule, t, shape, extra);
  add_op(cases,
         {rule.op, name_of_update(rule, t, shape, extra), o.inputs, [o](const Tensors& x) { return o.results(x); }});
}

// The same with its results put back into its states, as a training step has it.
void add_ten_steps(Cases& cases, const Rule& rule, DType t, const Shape& shape, const Extra& extra) {
  const Operands o = operands(rule, t, shape, extra);
  cases.push_back(state_case(Case::kUpdate,
                             {rule.op, name_of_update(rule, t, shape, extra), o.inputs,
                              [o](const Tensors& x) {
                                Tensors next = o.results(x);
                                next.push_back(add(x[3], scalar_like(x[3], 1)));
                                return next;
                              }},
                             10, [&] {
                               std::vector<int> states{0};
                               for (size_t i = 7; i < o.inputs.size(); ++i) states.push_back(static_cast<int>(i));
                               states.push_back(3);
                               return states;
                             }()));
}

// A gate that is shut gives the states back whatever the gradient is: no product with 0 does.
void add_shut_gate(Cases& cases, const Rule& rule) {
  const Extra shut{"shut", false, {0}};
  Operands o = operands(rule, DType::kF32, {5, 13}, shut);
  o.inputs[1] = values(DType::kF32, {5, 13}, {kNaN, 1, kInf, -kInf, 0});
  add_op(cases, {rule.op, cat(rule.what, *rule.what ? " " : "", "shut on NaN"), o.inputs,
                 [o](const Tensors& x) { return o.results(x); }});
}

}  // namespace

void add_update_cases(Cases& cases) {
  for (const Rule& rule : kRules) {
    add_shut_gate(cases, rule);
    for (const Shape& shape : {Shape{7}, Shape{1}, Shape{5, 13}, Shape{1031}})
      for (const Extra& extra : kExtras) add_one_step(cases, rule, DType::kF32, shape, extra);
    add_one_step(cases, rule, DType::kF32, {2, 3, 16}, kPlain);
    for (DType t : {DType::kBF16, DType::kF16, DType::kF64})
      for (const Extra& extra : kExtras) add_one_step(cases, rule, t, {5, 13}, extra);
  }
}

void add_ten_step_cases(Cases& cases) {
  for (const Rule& rule : kRules) {
    for (const Shape& shape : {Shape{7}, Shape{5, 13}})
      for (const Extra& extra : kTenStepExtras) add_ten_steps(cases, rule, DType::kF32, shape, extra);
    for (DType t : {DType::kBF16, DType::kF64}) add_ten_steps(cases, rule, t, {3, 4}, kPlain);
  }
}

}  // namespace tenon::corpus
