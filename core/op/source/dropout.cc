#include "op/rules.h"

namespace tenon {
namespace dropout_op {

Tensors decompose_rule(const Decompose& n) {
  const double rate = n.f64("rate");
  const Tensor x = widened(n.in(0));
  const Tensor draw = random(n.in(1), n.in(2), n.i64("stream"), x.shape(), true);
  const Tensor kept = compare(draw, scalar_like(draw, rate), CompareKind::kGe);
  Tensor y = select(kept, x * (rate < 1 ? 1 / (1 - rate) : 0), scalar_like(x, 0));
  if (n.has(3)) y = y + widened(n.in(3));
  return {cast(y, n.in(0).dtype())};
}

Tensors gradient_rule(const Gradient& n) {
  const Tensor dx = n.needs(0) ? dropout(n.g(0), n.in(1), n.in(2), Tensor(), n.f64("rate"), n.i64("stream")) : Tensor();
  return {dx, Tensor(), Tensor(), n.g(0)};
}

}  // namespace dropout_op

extern const OpDef kDropout;
constexpr OpDef kDropout = {"dropout", dropout_op::decompose_rule, dropout_op::gradient_rule};

Tensor dropout(Tensor x, Tensor seed, Tensor step, Tensor residual, double rate, int64_t stream) {
  return emit1("dropout", {x, seed, step, residual}, {{"rate", rate}, {"stream", stream}});
}

}  // namespace tenon
