#include "op/rules.h"

namespace tenon {
namespace sub_op {

Tensors gradient_rule(const Gradient& n) {
  return {unbroadcast(n.g(0), n.in(0)), n.needs(1) ? unbroadcast(neg(n.g(0)), n.in(1)) : Tensor()};
}

}  // namespace sub_op

extern const OpDef kSub;
constexpr OpDef kSub = {"sub", nullptr, sub_op::gradient_rule};

Tensor sub(Tensor a, Tensor b) { return emit1("sub", {a, b}); }

}  // namespace tenon
