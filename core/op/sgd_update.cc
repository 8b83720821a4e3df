#include "op/update_rules.h"

namespace tenon {
namespace sgd_update_op {

void shape_rule(Infer& c) { infer_pointwise_update(c, 0); }

Tensors decompose_rule(const Decompose& n) {
  const UpdateStep s(n);
  return s.results({s.p() - s.lr() * s.g()});
}

}  // namespace sgd_update_op

extern const OpDef kSgdUpdate;
const OpDef kSgdUpdate = {
    "sgd_update",
    "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I] ; l2:f64=0 -> p",
    "p' = p - lr G with G = scale g + l2 p. With rows, g holds the gradients of those rows of p: repeated "
    "rows add, rows out of range are dropped. A false gate returns the inputs.",
    sgd_update_op::shape_rule,
    sgd_update_op::decompose_rule,
};

}  // namespace tenon
