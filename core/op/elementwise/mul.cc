#include "op/rules.h"

namespace tenon {
namespace mul_op {

Tensors gradient_rule(const Gradient& n) {
  return {n.needs(0) ? unbroadcast(mul(n.g(0), n.in(1)), n.in(0)) : Tensor(),
          n.needs(1) ? unbroadcast(mul(n.g(0), n.in(0)), n.in(1)) : Tensor()};
}

}  // namespace mul_op

extern const OpDef kMul;
constexpr OpDef kMul = {"mul", nullptr, mul_op::gradient_rule};

Tensor mul(Tensor a, Tensor b) { return emit1("mul", {a, b}); }

}  // namespace tenon
