#include "op/update/update_rules.h"

#include <cmath>

namespace tenon {
namespace update_rules {

void expect_scalar(Infer& c, int i, DType dtype) {
  if (!c.has(i)) return;
  c.expect(c.in(i) == Type{dtype, {}}, c.operand(i), " is ", c.in(i).str(), ", expected ", dtype_name(dtype), "[]");
}

void check_gradient(Infer& c) {
  c.expect_same_dtype(kUpdateP, kUpdateG);
  if (!c.has(kUpdateRows)) return c.expect_shape(kUpdateG, c.shape(kUpdateP));
  c.expect_rank(kUpdateP, 1, kMaxRank);
  c.expect_rank(kUpdateRows, 1, 1);
  Shape given = c.shape(kUpdateP);
  given.set(0, c.shape(kUpdateRows)[0]);
  c.expect_shape(kUpdateG, given);
}

Tensor dense_gradient(const Decompose& n) {
  const Tensor g = widened(n.in(kUpdateG));
  if (!n.has(kUpdateRows)) return g;
  const Tensor zero = full(n.graph(), g.dtype(), n.in(kUpdateP).shape(), 0);
  return scatter(zero, n.in(kUpdateRows), g, 0, 0, ScatterKind::kAdd);
}

}  // namespace update_rules

void infer_update(Infer& c, int fewest, int most) {
  update_rules::expect_scalar(c, kUpdateLr, DType::kF32);
  update_rules::expect_scalar(c, kUpdateStep, DType::kI64);
  update_rules::expect_scalar(c, kUpdateScale, DType::kF32);
  update_rules::expect_scalar(c, kUpdateGate, DType::kBool);
  update_rules::check_gradient(c);
  int slots = 0;
  while (c.has(kUpdateSlots + slots)) ++slots;
  for (int i = kUpdateSlots + slots; i < c.operands(); ++i)
    c.expect(!c.has(i), c.operand(i), " is given, ", c.operand(kUpdateSlots + slots), " before it is not");
  c.expect(slots >= fewest && slots <= most, "has ", slots, " slots, expected ", fewest,
           fewest == most ? "" : cat(" to ", most));
  c.result(c.in(kUpdateP));
}

void infer_slot(Infer& c, int k, const Shape& shape) {
  const Type type{c.in(kUpdateP).dtype, shape};
  const int i = kUpdateSlots + k;
  c.expect(c.in(i) == type, c.operand(i), " is ", c.in(i).str(), ", expected ", type.str());
  c.result(type);
}

void infer_pointwise_update(Infer& c, int slots) {
  infer_update(c, slots, slots);
  for (int k = 0; k < slots; ++k) infer_slot(c, k, c.shape(kUpdateP));
}

UpdateStep::UpdateStep(const Decompose& n) : n_(n), p_(widened(n.in(kUpdateP))), g_(update_rules::dense_gradient(n)) {
  const DType dtype = p_.dtype();
  if (n.has(kUpdateScale)) g_ = g_ * cast(n.in(kUpdateScale), dtype);
  if (n.f64("l2") != 0) g_ = g_ + n.f64("l2") * p_;
  lr_ = cast(n.in(kUpdateLr), dtype);
  t_ = cast(n.in(kUpdateStep) + 1, dtype);
}

Tensor UpdateStep::mean(int k, double b, Tensor to) const {
  const Tensor old = slot(k);
  return old + (1 - b) * (to - old);
}

Tensor UpdateStep::unbias(double b) const { return -expm1(t_ * std::log(b)); }

Tensors UpdateStep::results(const Tensors& next) const {
  Tensors out;
  for (size_t i = 0; i < next.size(); ++i) {
    const Tensor old = n_.in(i == 0 ? kUpdateP : kUpdateSlots + static_cast<int>(i) - 1);
    const Tensor rounded = cast(next[i], old.dtype());
    out.push_back(n_.has(kUpdateGate) ? select(n_.in(kUpdateGate), rounded, old) : rounded);
  }
  return out;
}

}  // namespace tenon
