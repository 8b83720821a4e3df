#include "op/rules.h"

namespace tenon {
namespace {

Tensors mul_gradient(const Gradient& n) {
  return {n.needs(0) ? unbroadcast(mul(n.g(0), n.in(1)), n.in(0)) : Tensor(),
          n.needs(1) ? unbroadcast(mul(n.g(0), n.in(0)), n.in(1)) : Tensor()};
}

}  // namespace

extern const OpDef kMul;
constexpr OpDef kMul = {"mul", nullptr, mul_gradient};

Tensor mul(Tensor a, Tensor b) { return emit1("mul", {a, b}); }

}  // namespace tenon
