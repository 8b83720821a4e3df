#include "op/update_rules.h"

namespace tenon {
namespace adagrad_update_op {

void shape_rule(Infer& c) { infer_pointwise_update(c, 1); }

Tensors decompose_rule(const Decompose& n) {
  const UpdateStep s(n);
  const Tensor sum = s.slot(0) + square(s.g());
  return s.results({s.p() - s.lr() * s.g() / sqrt(sum + n.f64("eps")), sum});
}

}  // namespace adagrad_update_op

extern const OpDef kAdagradUpdate;
const OpDef kAdagradUpdate = {
    "adagrad_update",
    "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I] s:F ; l2:f64=0 eps:f64 -> p s",
    "s' = s + G^2, p' = p - lr G / sqrt(s' + eps); G, rows and gate as in sgd_update (Duchi et al. 2011).",
    adagrad_update_op::shape_rule,
    adagrad_update_op::decompose_rule,
};

}  // namespace tenon
