#include "op/update/update_rules.h"

namespace tenon {
namespace {

Tensor mean_square(Tensor x) { return reduce_mean(square(x)); }

// The means of squared gradients by row and column, which stand for their product over the mean of the rows.
Tensor factored(Tensor row, Tensor column, const Shape& shape) {
  const int rank = shape.rank();
  const Tensor mean = reduce_mean(row, {rank - 2}, true);
  const Tensor share = row / broadcast_to(mean, row.shape());
  return expand_reduced(share, shape, {rank - 1}) * expand_reduced(column, shape, {rank - 2});
}

Tensors adafactor_update_decomposition(const Decompose& n) {
  const UpdateStep s(n);
  const Tensor p = s.p(), keep = pow(s.t(), scalar_like(s.t(), -0.8));  // 1 - beta
  const Tensor squares = square(s.g()) + n.f64("eps1");
  const auto moved = [&](int k, Tensor to) { return s.slot(k) + keep * (to - s.slot(k)); };
  Tensors next{Tensor()};
  Tensor v;
  if (p.rank() < 2) {
    next.push_back(v = moved(0, squares));
  } else {
    next.push_back(moved(0, reduce_mean(squares, {-1})));
    next.push_back(moved(1, reduce_mean(squares, {-2})));
    v = factored(next[1], next[2], p.shape());
  }
  const Tensor u = s.g() / sqrt(v), one = scalar_like(p, 1);
  const Tensor clip = maximum(one, sqrt(mean_square(u)));
  const Tensor size = maximum(scalar_like(p, n.f64("eps2")), sqrt(mean_square(p)));
  next[0] = p - size * minimum(s.lr(), one / sqrt(s.t())) / clip * u;
  return s.results(next);
}

}  // namespace

extern const OpDef kAdafactorUpdate;
constexpr OpDef kAdafactorUpdate = {"adafactor_update", adafactor_update_decomposition};

}  // namespace tenon
