#include "op/update/update_rules.h"

namespace tenon {
namespace momentum_update_op {

Tensors decompose_rule(const Decompose& n) {
  const UpdateStep s(n);
  const Tensor d = s.lr() * s.g();
  const Tensor m = n.f64("mu") * s.slot(0) - d;
  return s.results({s.p() + (n.flag("nesterov") ? n.f64("mu") * m - d : m), m});
}

}  // namespace momentum_update_op

extern const OpDef kMomentumUpdate;
constexpr OpDef kMomentumUpdate = {"momentum_update", momentum_update_op::decompose_rule};

}  // namespace tenon
