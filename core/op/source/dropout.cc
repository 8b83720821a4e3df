#include "op/rules.h"

namespace tenon {
namespace {

Tensors dropout_decomposition(const Decompose& n) {
  using Op = op::dropout;
  const double rate = n.f64("rate");
  const Tensor x = widened(n.in(Op::x));
  const Tensor draw = random(n.in(Op::seed), n.in(Op::step), n.i64("stream"), x.shape(), true, n.i64("first"));
  const Tensor kept = compare(draw, scalar_like(draw, rate), CompareKind::kGe);
  Tensor y = select(kept, x * (rate < 1 ? 1 / (1 - rate) : 0), scalar_like(x, 0));
  if (n.has(Op::residual)) y = y + widened(n.in(Op::residual));
  return {cast(y, n.in(Op::x).dtype())};
}

Tensors dropout_gradient(const Gradient& n) {
  using Op = op::dropout;
  if (!n.needs(Op::x)) return {Tensor(), Tensor(), Tensor(), n.g(0)};
  const Tensor dx =
      dropout(n.g(0), n.in(Op::seed), n.in(Op::step), Tensor(), n.f64("rate"), n.i64("stream"), n.i64("first"));
  return {dx, Tensor(), Tensor(), n.g(0)};
}

}  // namespace

extern const OpDef kDropout;
constexpr OpDef kDropout = {"dropout", dropout_decomposition, dropout_gradient};

Tensor dropout(Tensor x, Tensor seed, Tensor step, Tensor residual, double rate, int64_t stream, int64_t first) {
  return emit1("dropout", {x, seed, step, residual}, {{"rate", rate}, {"stream", stream}, {"first", first}});
}

}  // namespace tenon
