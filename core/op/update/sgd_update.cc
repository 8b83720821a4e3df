#include "op/update/update_rules.h"

namespace tenon {
namespace sgd_update_op {

Tensors decompose_rule(const Decompose& n) {
  const UpdateStep s(n);
  return s.results({s.p() - s.lr() * s.g()});
}

}  // namespace sgd_update_op

extern const OpDef kSgdUpdate;
constexpr OpDef kSgdUpdate = {"sgd_update", sgd_update_op::decompose_rule};

}  // namespace tenon
