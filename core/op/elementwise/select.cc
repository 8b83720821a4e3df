#include "op/rules.h"

namespace tenon {
namespace {

Tensors select_gradient(const Gradient& n) {
  using Op = op::select;
  const Tensor condition = n.in(Op::c), g = n.g(0), zero = scalar_like(g, 0);
  return {Tensor(), n.needs(Op::a) ? unbroadcast(select(condition, g, zero), n.in(Op::a)) : Tensor(),
          n.needs(Op::b) ? unbroadcast(select(condition, zero, g), n.in(Op::b)) : Tensor()};
}

}  // namespace

extern const OpDef kSelect;
constexpr OpDef kSelect = {"select", nullptr, select_gradient};

Tensor select(Tensor condition, Tensor a, Tensor b) { return emit1("select", {condition, a, b}); }

}  // namespace tenon
