// Rules of updates of variables: p, g, lr, step, [scale], [gate], [rows], slots..
#include <algorithm>

#include "op/shapes/rules.h"
#include "tenon/abi/optimizer.h"
#include "tenon/op/table.h"

namespace tenon::op::shapes {
namespace {

// How many slots there are, `fewest` to `most`; appends the type of p.
void variable(Infer& c, int fewest, int most) {
  c.expect_type(TENON_UPDATE_LR, {TENON_F32, {}});
  c.expect_type(TENON_UPDATE_STEP, {TENON_I64, {}});
  c.expect_type(TENON_UPDATE_SCALE, {TENON_F32, {}});
  c.expect_type(TENON_UPDATE_GATE, {TENON_BOOL, {}});
  Shape g = c.shape(TENON_UPDATE_P);
  if (c.has(TENON_UPDATE_ROWS)) {
    c.expect_rank(TENON_UPDATE_P, 1, TENON_MAX_RANK);
    c.expect_rank(TENON_UPDATE_ROWS, 1, 1);
    g.set(0, c.shape(TENON_UPDATE_ROWS)[0]);
  }
  c.expect_same_dtype(TENON_UPDATE_P, TENON_UPDATE_G);
  c.expect_shape(TENON_UPDATE_G, g);
  int slots = 0;
  while (c.has(TENON_UPDATE_SLOTS + slots)) ++slots;
  for (int i = TENON_UPDATE_SLOTS + slots; i < c.operands(); ++i)
    c.expect(!c.has(i), c.operand(i), " is given, ", c.operand(TENON_UPDATE_SLOTS + slots), " before it is not");
  c.expect(slots >= fewest && slots <= most, "has ", slots, " slots, expected ", fewest,
           fewest == most ? "" : cat(" to ", most));
  c.result(c.in(TENON_UPDATE_P));
}

void slot(Infer& c, int k, const Shape& shape) {
  const Type type{c.dtype(TENON_UPDATE_P), shape};
  c.expect_type(TENON_UPDATE_SLOTS + k, type);
  c.result(type);
}

// Slots of p's type.
void pointwise(Infer& c, int fewest, int most) {
  variable(c, fewest, most);
  for (int k = 0; c.has(TENON_UPDATE_SLOTS + k); ++k) slot(c, k, c.shape(TENON_UPDATE_P));
}
void pointwise(Infer& c, int slots) { pointwise(c, slots, slots); }

}  // namespace

// Those whose slots no attribute changes.
#define TENON_SHAPE_RULE(op) \
  void op(Infer& c) { pointwise(c, row(#op).update.slots); }
TENON_SHAPE_RULE(sgd_update)
TENON_SHAPE_RULE(momentum_update)
TENON_SHAPE_RULE(adamax_update)
TENON_SHAPE_RULE(adagrad_update)
TENON_SHAPE_RULE(adadelta_update)
TENON_SHAPE_RULE(ftrl_update)
TENON_SHAPE_RULE(lamb_update)
TENON_SHAPE_RULE(lion_update)
#undef TENON_SHAPE_RULE

void adam_update(Infer& c) { pointwise(c, c.flag("amsgrad") ? 3 : 2); }
void adamw_update(Infer& c) { adam_update(c); }

void rmsprop_update(Infer& c) {
  const bool centered = c.flag("centered");
  pointwise(c, centered ? 3 : c.f64("mu") != 0 ? 2 : 1, centered ? 3 : 2);
}

void nadam_update(Infer& c) {
  variable(c, 3, 3);
  slot(c, 0, c.shape(TENON_UPDATE_P));
  slot(c, 1, c.shape(TENON_UPDATE_P));
  slot(c, 2, {});
}

void adafactor_update(Infer& c) {
  const Shape& p = c.shape(TENON_UPDATE_P);
  const int slots = p.rank() >= 2 ? 2 : 1;
  variable(c, slots, slots);
  if (slots == 1) return slot(c, 0, p);
  slot(c, 0, without(p, {p.rank() - 1}));
  slot(c, 1, without(p, {p.rank() - 2}));
}

}  // namespace tenon::op::shapes
