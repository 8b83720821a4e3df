#include "op/rules.h"

namespace tenon {
namespace {

Tensors dot_gradient(const Gradient& n) { return dot_gradients(n, n.g(0)); }

}  // namespace

Tensors dot_gradients(const Gradient& n, Tensor grad) {
  const bool ta = n.flag("ta"), tb = n.flag("tb");
  const Tensor a = n.in(op::dot::a), b = n.in(op::dot::b), g = cast(grad, a.dtype());
  const auto product = [&](Tensor x, Tensor y, bool tx, bool ty) {
    return dot(x, y, {tx, ty, static_cast<MathPrecision>(n.enumerator("precision"))});
  };
  Tensor da, db;
  if (n.needs(op::dot::a)) da = ta ? product(b, g, tb, true) : product(g, b, false, !tb);
  if (n.needs(op::dot::b)) db = tb ? product(g, a, true, ta) : product(a, g, !ta, false);
  return {da, db};
}

extern const OpDef kDot;
constexpr OpDef kDot = {"dot", nullptr, dot_gradient};

Tensor dot(Tensor a, Tensor b, const DotOptions& o) {
  return emit1("dot", {a, b}, {{"ta", o.ta}, {"tb", o.tb}, {"precision", number_of(o.precision)}, {"out", o.out}});
}

}  // namespace tenon
