#include "op/rules.h"

namespace tenon {
namespace {

Tensors div_gradient(const Gradient& n) {
  const Tensor da = div(n.g(0), n.in(1));
  return {n.needs(0) ? unbroadcast(da, n.in(0)) : Tensor(),
          n.needs(1) ? unbroadcast(neg(mul(da, n.out(0))), n.in(1)) : Tensor()};
}

}  // namespace

extern const OpDef kDiv;
constexpr OpDef kDiv = {"div", nullptr, div_gradient};

Tensor div(Tensor a, Tensor b) { return emit1("div", {a, b}); }

}  // namespace tenon
