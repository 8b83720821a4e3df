#include "op/network/batch_norm.h"

namespace tenon {

DType norm_dtype(Tensor x, Tensor gamma) {
  const bool wide = x.dtype() == DType::kF64 || gamma.dtype() == DType::kF64;
  return wide ? DType::kF64 : DType::kF32;
}

Tensor channel_mean(Tensor x, int64_t group) {
  const Tensor mean = reduce_mean(x, leading_axes(x.rank()));
  if (group == 1) return mean;
  return reduce_mean(all_gather(expand_dims(mean, 0), 0, group), {0});
}

Tensor per_channel(Tensor v, Tensor x) { return broadcast_trailing(v, x.shape()); }

Tensor inverse_deviation(Tensor var, double eps) { return 1 / sqrt(var + eps); }

namespace batch_norm_op {

Tensors decompose_rule(const Decompose& n) {
  const DType compute = norm_dtype(n.in(0), n.in(1)), stored = n.in(1).dtype();
  const Tensor x = cast(n.in(0), compute), gamma = cast(n.in(1), compute), beta = cast(n.in(2), compute);
  const Tensor mean = channel_mean(x, n.i64("group"));
  const Tensor centred = x - per_channel(mean, x);
  const Tensor var = channel_mean(square(centred), n.i64("group"));
  Tensor y = centred * per_channel(gamma * inverse_deviation(var, n.f64("eps")), x) + per_channel(beta, x);
  if (n.has(3)) y = y + cast(n.in(3), compute);
  y = activation(y, activation_of(n), n.f64("alpha"));
  return {cast(y, n.in(0).dtype()), cast(mean, stored), cast(var, stored)};
}

// Nothing differentiable but y: a moving average is no loss. Else the primitives are differentiated.
Tensors gradient_rule(const Gradient& n) {
  const Activation act = activation_of(n);
  if (n.g(1) || n.g(2) || !gradient_from_result(act)) return {};
  const NormOptions o{n.f64("eps"), act, n.f64("alpha"), n.i64("group")};
  const Tensor y = act == Activation::kNone ? Tensor() : n.out(0);
  const BatchNormGrad d = batch_norm_grad(n.g(0), n.in(0), n.in(1), n.out(1), n.out(2), y, n.needs(3), o);
  return {d.dx, d.dgamma, d.dbeta, d.dresidual};
}

}  // namespace batch_norm_op

extern const OpDef kBatchNorm;
constexpr OpDef kBatchNorm = {"batch_norm", batch_norm_op::decompose_rule, batch_norm_op::gradient_rule};

Normalized batch_norm(Tensor x, Tensor gamma, Tensor beta, Tensor residual, const NormOptions& o) {
  const Tensors r = emit_all("batch_norm", {x, gamma, beta, residual},
                             {{"eps", o.eps}, {"act", number_of(o.act)}, {"alpha", o.alpha}, {"group", o.group}});
  return {r[0], r[1], r[2]};
}

namespace batch_norm_apply_op {

Tensors decompose_rule(const Decompose& n) {
  const DType compute = norm_dtype(n.in(0), n.in(1));
  const auto wide = [&](int i) { return cast(n.in(i), compute); };
  const Tensor x = wide(0), scale = wide(1) * inverse_deviation(wide(4), n.f64("eps"));
  Tensor y = (x - per_channel(wide(3), x)) * per_channel(scale, x) + per_channel(wide(2), x);
  if (n.has(5)) y = y + wide(5);
  return {cast(activation(y, activation_of(n), n.f64("alpha")), n.in(0).dtype())};
}

}  // namespace batch_norm_apply_op

extern const OpDef kBatchNormApply;
constexpr OpDef kBatchNormApply = {"batch_norm_apply", batch_norm_apply_op::decompose_rule};

Tensor batch_norm_apply(Tensor x, Tensor gamma, Tensor beta, Tensor mean, Tensor var, Tensor residual,
                        const NormOptions& o) {
  return emit1("batch_norm_apply", {x, gamma, beta, mean, var, residual},
               {{"eps", o.eps}, {"act", number_of(o.act)}, {"alpha", o.alpha}});
}

}  // namespace tenon
