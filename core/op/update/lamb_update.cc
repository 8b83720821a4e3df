#include "op/update/update_rules.h"

namespace tenon {
namespace {

Tensor norm(Tensor x) { return sqrt(reduce_sum(square(x))); }
Tensor is_zero(Tensor x) { return compare(x, scalar_like(x, 0), CompareKind::kEq); }

Tensors lamb_update_decomposition(const Decompose& n) {
  const UpdateStep s(n);
  const double b1 = n.f64("b1"), b2 = n.f64("b2");
  const Tensor m = s.mean(0, b1, s.g()), v = s.mean(1, b2, square(s.g()));
  const Tensor r = m / s.unbias(b1) / (sqrt(v / s.unbias(b2)) + n.f64("eps"));
  const Tensor of_p = norm(s.p()), of_r = norm(r);
  const Tensor ratio = select(maximum(is_zero(of_p), is_zero(of_r)), scalar_like(of_p, 1), of_p / of_r);
  return s.results({s.p() - s.lr() * ratio * r, m, v});
}

}  // namespace

extern const OpDef kLambUpdate;
constexpr OpDef kLambUpdate = {"lamb_update", lamb_update_decomposition};

}  // namespace tenon
