#include "op/rules.h"

namespace tenon {
namespace select_op {

Tensors gradient_rule(const Gradient& n) {
  const Tensor condition = n.in(0), g = n.g(0), zero = scalar_like(g, 0);
  return {Tensor(), n.needs(1) ? unbroadcast(select(condition, g, zero), n.in(1)) : Tensor(),
          n.needs(2) ? unbroadcast(select(condition, zero, g), n.in(2)) : Tensor()};
}

}  // namespace select_op

extern const OpDef kSelect;
constexpr OpDef kSelect = {"select", nullptr, select_op::gradient_rule};

Tensor select(Tensor condition, Tensor a, Tensor b) { return emit1("select", {condition, a, b}); }

}  // namespace tenon
