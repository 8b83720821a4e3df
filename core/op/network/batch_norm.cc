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

namespace {

Tensors batch_norm_decomposition(const Decompose& n) {
  using Op = op::batch_norm;
  const DType compute = norm_dtype(n.in(Op::x), n.in(Op::gamma)), stored = n.in(Op::gamma).dtype();
  const Tensor x = cast(n.in(Op::x), compute), gamma = cast(n.in(Op::gamma), compute),
               beta = cast(n.in(Op::beta), compute);
  const Tensor mean = channel_mean(x, n.i64("group"));
  const Tensor centred = x - per_channel(mean, x);
  const Tensor var = channel_mean(square(centred), n.i64("group"));
  Tensor y = centred * per_channel(gamma * inverse_deviation(var, n.f64("eps")), x) + per_channel(beta, x);
  if (n.has(Op::residual)) y = y + cast(n.in(Op::residual), compute);
  y = activation(y, activation_of(n), n.f64("alpha"));
  return {cast(y, n.in(Op::x).dtype()), cast(mean, stored), cast(var, stored)};
}

// Nothing differentiable but y: a moving average is no loss. Else the primitives are differentiated.
Tensors batch_norm_gradient(const Gradient& n) {
  using Op = op::batch_norm;
  const Activation act = activation_of(n);
  if (n.g(Op::out::mean) || n.g(Op::out::var) || !gradient_from_result(act)) return {};
  const NormOptions o{n.f64("eps"), act, n.f64("alpha"), n.i64("group")};
  const Tensor y = act == Activation::kNone ? Tensor() : n.out(Op::out::y);
  const BatchNormGrad d = batch_norm_grad(n.g(Op::out::y), n.in(Op::x), n.in(Op::gamma), n.out(Op::out::mean),
                                          n.out(Op::out::var), y, n.needs(Op::residual), o);
  return {d.dx, d.dgamma, d.dbeta, d.dresidual};
}

}  // namespace

extern const OpDef kBatchNorm;
constexpr OpDef kBatchNorm = {"batch_norm", batch_norm_decomposition, batch_norm_gradient};

Normalized batch_norm(Tensor x, Tensor gamma, Tensor beta, Tensor residual, const NormOptions& o) {
  const Tensors r = emit_all("batch_norm", {x, gamma, beta, residual},
                             {{"eps", o.eps}, {"act", number_of(o.act)}, {"alpha", o.alpha}, {"group", o.group}});
  return {r[0], r[1], r[2]};
}

namespace {

Tensors batch_norm_apply_decomposition(const Decompose& n) {
  using Op = op::batch_norm_apply;
  const DType compute = norm_dtype(n.in(Op::x), n.in(Op::gamma));
  const auto wide = [&](int i) { return cast(n.in(i), compute); };
  const Tensor x = wide(Op::x), scale = wide(Op::gamma) * inverse_deviation(wide(Op::var), n.f64("eps"));
  Tensor y = (x - per_channel(wide(Op::mean), x)) * per_channel(scale, x) + per_channel(wide(Op::beta), x);
  if (n.has(Op::residual)) y = y + wide(Op::residual);
  return {cast(activation(y, activation_of(n), n.f64("alpha")), n.in(Op::x).dtype())};
}

}  // namespace

extern const OpDef kBatchNormApply;
constexpr OpDef kBatchNormApply = {"batch_norm_apply", batch_norm_apply_decomposition};

Tensor batch_norm_apply(Tensor x, Tensor gamma, Tensor beta, Tensor mean, Tensor var, Tensor residual,
                        const NormOptions& o) {
  return emit1("batch_norm_apply", {x, gamma, beta, mean, var, residual},
               {{"eps", o.eps}, {"act", number_of(o.act)}, {"alpha", o.alpha}});
}

}  // namespace tenon
