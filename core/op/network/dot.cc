#include "op/rules.h"

namespace tenon {
namespace dot_op {

Tensors gradient_rule(const Gradient& n) { return dot_gradients(n, n.g(0)); }

}  // namespace dot_op

Tensors dot_gradients(const Gradient& n, Tensor grad) {
  const bool ta = n.flag("ta"), tb = n.flag("tb");
  const Tensor a = n.in(0), b = n.in(1), g = cast(grad, a.dtype());
  const auto product = [&](Tensor x, Tensor y, bool tx, bool ty) {
    return dot(x, y, {tx, ty, static_cast<MathPrecision>(n.enumerator("precision"))});
  };
  Tensor da, db;
  if (n.needs(0)) da = ta ? product(b, g, tb, true) : product(g, b, false, !tb);
  if (n.needs(1)) db = tb ? product(g, a, true, ta) : product(a, g, !ta, false);
  return {da, db};
}

extern const OpDef kDot;
constexpr OpDef kDot = {"dot", nullptr, dot_op::gradient_rule};

Tensor dot(Tensor a, Tensor b, const DotOptions& o) {
  return emit1("dot", {a, b}, {{"ta", o.ta}, {"tb", o.tb}, {"precision", number_of(o.precision)}, {"out", o.out}});
}

}  // namespace tenon
