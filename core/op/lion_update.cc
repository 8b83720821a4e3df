#include "op/update_rules.h"

namespace tenon {
namespace lion_update_op {

void shape_rule(Infer& c) { infer_pointwise_update(c, 1); }

Tensors decompose_rule(const Decompose& n) {
  const UpdateStep s(n);
  Tensor p = s.p() - s.lr() * sign(s.mean(0, n.f64("b1"), s.g()));
  if (n.f64("wd") != 0) p = p - n.f64("wd") * s.lr() * s.p();
  return s.results({p, s.mean(0, n.f64("b2"), s.g())});
}

}  // namespace lion_update_op

extern const OpDef kLionUpdate;
const OpDef kLionUpdate = {
    "lion_update",
    "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I] m:F ; l2:f64=0 b1:f64 b2:f64 wd:f64=0 -> p m",
    "p' = p - lr (sign(b1 m + (1 - b1) G) + wd p), then m' = b2 m + (1 - b2) G (Chen et al. 2023). G, rows "
    "and gate as in sgd_update.",
    lion_update_op::shape_rule,
    lion_update_op::decompose_rule,
};

}  // namespace tenon
