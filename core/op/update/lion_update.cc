#include "op/update/update_rules.h"

namespace tenon {
namespace lion_update_op {

Tensors decompose_rule(const Decompose& n) {
  const UpdateStep s(n);
  Tensor p = s.p() - s.lr() * sign(s.mean(0, n.f64("b1"), s.g()));
  if (n.f64("wd") != 0) p = p - n.f64("wd") * s.lr() * s.p();
  return s.results({p, s.mean(0, n.f64("b2"), s.g())});
}

}  // namespace lion_update_op

extern const OpDef kLionUpdate;
constexpr OpDef kLionUpdate = {"lion_update", lion_update_op::decompose_rule};

}  // namespace tenon
