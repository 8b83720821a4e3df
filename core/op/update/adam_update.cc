#include "op/update/update_rules.h"

namespace tenon {
namespace {

Tensors adam_update_decomposition(const Decompose& n) {
  const UpdateStep s(n);
  const double b1 = n.f64("b1"), b2 = n.f64("b2");
  const Tensor m = s.mean(0, b1, s.g()), v = s.mean(1, b2, square(s.g()));
  Tensors slots{m, v};
  if (n.flag("amsgrad")) slots.push_back(maximum(s.slot(2), v));
  const Tensor rate = s.lr() * sqrt(s.unbias(b2)) / s.unbias(b1);
  const Tensor p = s.p() - rate * m / (sqrt(slots.back()) + n.f64("eps"));
  slots.insert(slots.begin(), p);
  return s.results(slots);
}

}  // namespace

extern const OpDef kAdamUpdate;
constexpr OpDef kAdamUpdate = {"adam_update", adam_update_decomposition};

}  // namespace tenon
