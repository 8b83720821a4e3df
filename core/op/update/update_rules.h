// What the updates of all optimizers share: their operands' checks, and G = scale g + l2 p with its rows and its
// gate. Positions of the operands are those of tenon/abi/optimizer.h.
#pragma once

#include "op/rules.h"

namespace tenon {

enum UpdateOperand { kUpdateP, kUpdateG, kUpdateLr, kUpdateStep, kUpdateScale, kUpdateGate, kUpdateRows, kUpdateSlots };

// Checks p, g, lr, step, scale, gate and rows, and that there are `fewest` to `most` slots without a gap;
// appends the type of p.
void infer_update(Infer& c, int fewest, int most);
// The same with slots of p's type; appends theirs.
void infer_pointwise_update(Infer& c, int slots);
// Checks slot k against a shape in p's dtype and appends it.
void infer_slot(Infer& c, int k, const Shape& shape);

// One update, computed in f32 or f64 whatever p's dtype is, so that 16-bit variables round once.
class UpdateStep {
 public:
  explicit UpdateStep(const Decompose& n);

  Tensor p() const { return p_; }
  Tensor g() const { return g_; }    // G, of p's shape
  Tensor lr() const { return lr_; }  // rank 0
  Tensor t() const { return t_; }    // rank 0: 1 in the first update
  bool has_slot(int k) const { return n_.has(kUpdateSlots + k); }
  Tensor slot(int k) const { return widened(n_.in(kUpdateSlots + k)); }
  // The slot moved towards `to` by 1 - b.
  Tensor mean(int k, double b, Tensor to) const;
  // 1 - b^t, without cancellation.
  Tensor unbias(double b) const;
  // p' and the slots', rounded to their dtypes; the old ones where the gate is false.
  Tensors results(const Tensors& next) const;

 private:
  const Decompose& n_;
  Tensor p_, g_, lr_, t_;
};

}  // namespace tenon
