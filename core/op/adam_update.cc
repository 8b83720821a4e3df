#include "op/update_rules.h"

namespace tenon {
namespace adam_update_op {

void shape_rule(Infer& c) { infer_pointwise_update(c, c.flag("amsgrad") ? 3 : 2); }

Tensors decompose_rule(const Decompose& n) {
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

}  // namespace adam_update_op

extern const OpDef kAdamUpdate;
const OpDef kAdamUpdate = {
    "adam_update",
    "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I] m:F v:F [vmax:F] ; l2:f64=0 b1:f64 b2:f64 eps:f64 "
    "amsgrad:bool=false -> p m v [vmax]",
    "m and v become running means of G and G^2; p' = p - lr sqrt(1 - b2^t) / (1 - b1^t) m' / (sqrt(v') + "
    "eps), t = step + 1 (Kingma and Ba 2015, the form at the end of section 2). amsgrad divides by the "
    "largest v so far, vmax. G, rows and gate as in sgd_update; moments decay in rows without a gradient too.",
    adam_update_op::shape_rule,
    adam_update_op::decompose_rule,
};

}  // namespace tenon
