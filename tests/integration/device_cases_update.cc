#include "integration/device_cases.h"

namespace tenon::device_testing {
namespace {

struct Slot {
  double low, high;
  int drop = 0;  // -1, -2: p's shape without that axis; 1: a scalar
};

struct Rule {
  const char* op;
  Attrs attrs;
  std::vector<Slot> slots;
};

const Rule kRules[] = {
    {"sgd_update", {}, {}},
    {"sgd_update", {{"l2", 0.1}}, {}},
    {"momentum_update", {{"mu", 0.9}}, {{-1, 1}}},
    {"momentum_update", {{"mu", 0.9}, {"nesterov", true}, {"l2", 0.1}}, {{-1, 1}}},
    {"adam_update", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}}, {{-1, 1}, {0.1, 1}}},
    {"adam_update", {{"b1", 0.9}, {"b2", 0.99}, {"eps", 1e-3}, {"amsgrad", true}, {"l2", 0.1}}, {{-1, 1}, {0.1, 1}, {0.1, 2}}},
    {"adamw_update", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}, {"wd", 0.1}}, {{-1, 1}, {0.1, 1}}},
    {"adamax_update", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}}, {{-1, 1}, {0.1, 1}}},
    {"nadam_update", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}}, {{-1, 1}, {0.1, 1}, {0.2, 0.8, 1}}},
    {"adagrad_update", {{"eps", 1e-7}}, {{0.1, 1}}},
    {"adadelta_update", {{"rho", 0.95}, {"eps", 1e-7}}, {{0.1, 1}, {0.1, 1}}},
    {"rmsprop_update", {{"rho", 0.9}, {"eps", 1e-7}}, {{0.1, 1}}},
    {"rmsprop_update", {{"rho", 0.9}, {"eps", 1e-3}, {"mu", 0.9}}, {{0.1, 1}, {-1, 1}}},
    {"rmsprop_update", {{"rho", 0.9}, {"eps", 1e-3}, {"mu", 0.5}, {"centered", true}}, {{0.5, 1}, {-1, 1}, {-0.1, 0.1}}},
    {"ftrl_update", {}, {{0.1, 1}, {-1, 1}}},
    {"ftrl_update", {{"l1", 0.3}, {"l2_reg", 0.02}, {"shrink", 0.05}, {"beta", 0.3}, {"lr_power", -0.7}}, {{0.1, 1}, {-1, 1}}},
    {"lamb_update", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}, {"wd", 0.01}}, {{-1, 1}, {0.1, 1}}},
    {"lion_update", {{"b1", 0.9}, {"b2", 0.99}, {"wd", 0.01}}, {{-1, 1}}},
    {"adafactor_update", {}, {{0.1, 1, -1}, {0.1, 1, -2}}},
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
  int gate = -1;  // closed, open
  bool rows = false;
};
const Extra kExtras[] = {{"plain"}, {"scaled", true}, {"closed", false, 0}, {"open", true, 1}, {"rows", false, -1, true}};

void add_update(Cases& cases, const Rule& rule, DType t, const Shape& shape, const Extra& extra) {
  Shape given = shape;
  if (extra.rows) given.set(0, 4);
  std::vector<Feed> feeds{random_feed(t, shape, 1), random_feed(t, given, 2, 0.1, 1), op_testing::f32({}, {0.0625}), op_testing::of(DType::kI64, {}, {6}),
                          op_testing::f32({}, {0.5}), op_testing::of(DType::kBool, {}, {double(extra.gate > 0)}),
                          op_testing::of(DType::kI64, {4}, {1, -1, 0, 1})};
  const size_t first = feeds.size();
  int seed = 10;
  for (const Slot& s : rule.slots) {
    if (shape.rank() < 2 && s.drop == -2) continue;  // adafactor keeps one slot of a vector
    feeds.push_back(random_feed(t, slot_shape(shape, s), seed++, s.low, s.high));
  }
  const std::string op = rule.op;
  const Attrs attrs = rule.attrs;
  const Build build = [=](const Tensors& x) {
    Tensors operands{x[0], x[1], x[2], x[3], extra.scale ? x[4] : Tensor(), extra.gate >= 0 ? x[5] : Tensor(), extra.rows ? x[6] : Tensor()};
    operands.insert(operands.end(), x.begin() + static_cast<long>(first), x.end());
    return emit_all(op, operands, attrs);
  };
  cases.push_back({op, name_of({t, shape}) + " " + extra.name, feeds, build});
}

}  // namespace

void add_update_cases(Cases& cases) {
  for (const Rule& rule : kRules)
    for (DType t : kFloats)
      for (const Shape& shape : {Shape{7}, Shape{1}, Shape{5, 13}, Shape{2, 3, 16}, Shape{1031}})
        for (const Extra& extra : kExtras) {
          if (extra.rows && shape[0] < 2) continue;
          if (t != DType::kF32 && shape.elements() > 100) continue;
          add_update(cases, rule, t, shape, extra);
        }
}

}  // namespace tenon::device_testing
