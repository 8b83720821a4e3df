#include "op/update_rules.h"

namespace tenon {
namespace adamax_update_op {

void shape_rule(Infer& c) { infer_pointwise_update(c, 2); }

Tensors decompose_rule(const Decompose& n) {
  const UpdateStep s(n);
  const double b1 = n.f64("b1");
  const Tensor m = s.mean(0, b1, s.g());
  const Tensor u = maximum(n.f64("b2") * s.slot(1), abs(s.g()));
  return s.results({s.p() - s.lr() / s.unbias(b1) * m / (u + n.f64("eps")), m, u});
}

}  // namespace adamax_update_op

extern const OpDef kAdamaxUpdate;
const OpDef kAdamaxUpdate = {
    "adamax_update",
    "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I] m:F u:F ; l2:f64=0 b1:f64 b2:f64 eps:f64 -> p m u",
    "m' is the running mean of G, u' = max(b2 u, |G|); p' = p - lr / (1 - b1^t) m' / (u' + eps), t = step + 1 "
    "(Kingma and Ba 2015, section 7.1). G, rows and gate as in sgd_update.",
    adamax_update_op::shape_rule,
    adamax_update_op::decompose_rule,
};

}  // namespace tenon
