#include "op/rules.h"

namespace tenon {
namespace div_op {

Tensors gradient_rule(const Gradient& n) {
  const Tensor da = div(n.g(0), n.in(1));
  return {n.needs(0) ? unbroadcast(da, n.in(0)) : Tensor(),
          n.needs(1) ? unbroadcast(neg(mul(da, n.out(0))), n.in(1)) : Tensor()};
}

}  // namespace div_op

extern const OpDef kDiv;
constexpr OpDef kDiv = {"div", nullptr, div_op::gradient_rule};

Tensor div(Tensor a, Tensor b) { return emit1("div", {a, b}); }

}  // namespace tenon
