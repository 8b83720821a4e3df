#include "op/update/update_rules.h"

#include <cmath>

namespace tenon {
namespace {

Tensor dense_gradient(const Decompose& n) {
  const Tensor g = widened(n.in(kUpdateG));
  if (!n.has(kUpdateRows)) return g;
  const Tensor zero = full(n.graph(), g.dtype(), n.in(kUpdateP).shape(), 0);
  return scatter(zero, n.in(kUpdateRows), g, 0, 0, ScatterKind::kAdd);
}

}  // namespace

UpdateStep::UpdateStep(const Decompose& n) : n_(n), p_(widened(n.in(kUpdateP))), g_(dense_gradient(n)) {
  const DType dtype = p_.dtype();
  if (n.has(kUpdateScale)) g_ = g_ * cast(n.in(kUpdateScale), dtype);
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
