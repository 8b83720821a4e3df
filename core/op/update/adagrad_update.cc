#include "op/update/update_rules.h"

namespace tenon {
namespace adagrad_update_op {

Tensors decompose_rule(const Decompose& n) {
  const UpdateStep s(n);
  const Tensor sum = s.slot(0) + square(s.g());
  return s.results({s.p() - s.lr() * s.g() / sqrt(sum + n.f64("eps")), sum});
}

}  // namespace adagrad_update_op

extern const OpDef kAdagradUpdate;
constexpr OpDef kAdagradUpdate = {"adagrad_update", adagrad_update_op::decompose_rule};

}  // namespace tenon
