#include "op/update/update_rules.h"

namespace tenon {
namespace rmsprop_update_op {

void shape_rule(Infer& c) {
  const bool centered = c.flag("centered");
  infer_update(c, centered ? 3 : c.f64("mu") != 0 ? 2 : 1, centered ? 3 : 2);
  for (int k = 0; c.has(kUpdateSlots + k); ++k) infer_slot(c, k, c.shape(0));
}

Tensors decompose_rule(const Decompose& n) {
  const UpdateStep s(n);
  const double rho = n.f64("rho");
  Tensors next{Tensor(), s.mean(0, rho, square(s.g()))};
  Tensor variance = next[1], mean;
  if (n.flag("centered")) {
    mean = s.mean(2, rho, s.g());
    variance = variance - square(mean);
  }
  Tensor d = s.lr() * s.g() / sqrt(variance + n.f64("eps"));
  if (s.has_slot(1)) next.push_back(d = n.f64("mu") * s.slot(1) + d);
  if (mean) next.push_back(mean);
  next[0] = s.p() - d;
  return s.results(next);
}

}  // namespace rmsprop_update_op

extern const OpDef kRmspropUpdate;
constexpr OpDef kRmspropUpdate = {"rmsprop_update", rmsprop_update_op::shape_rule, rmsprop_update_op::decompose_rule};

}  // namespace tenon
