// What the updates of all optimizers share: G = scale g, whether g has all rows or those of some, the step's number and the gate.
// Positions of the operands are those of tenon/abi/optimizer.h.
#pragma once

#include "op/rules.h"

namespace tenon {

enum UpdateOperand { kUpdateP, kUpdateG, kUpdateLr, kUpdateStep, kUpdateScale, kUpdateGate, kUpdateRows, kUpdateSlots };

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
