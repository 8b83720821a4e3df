#include "op/network/batch_norm.h"

namespace tenon {
namespace {

Tensor sum_channels(Tensor x) { return reduce(x, leading_axes(x.rank()), ReduceKind::kSum); }

Tensors batch_norm_grad_decomposition(const Decompose& n) {
  using Op = op::batch_norm_grad;
  const DType compute = norm_dtype(n.in(Op::x), n.in(Op::gamma)), stored = n.in(Op::gamma).dtype();
  const auto wide = [&](int i) { return cast(n.in(i), compute); };
  const Tensor x = wide(Op::x), inverse = inverse_deviation(wide(Op::var), n.f64("eps"));
  const Tensor dz =
      n.has(Op::y) ? activation_grad(wide(Op::dy), wide(Op::y), activation_of(n), n.f64("alpha")) : wide(Op::dy);
  const Tensor normal = (x - per_channel(wide(Op::mean), x)) * per_channel(inverse, x);
  const Tensor slope = dz * normal;
  const int64_t group = n.i64("group");
  const Tensor centred =
      dz - per_channel(channel_mean(dz, group), x) - normal * per_channel(channel_mean(slope, group), x);
  const Tensor dx = per_channel(wide(Op::gamma) * inverse, x) * centred;
  Tensors out{cast(dx, n.in(Op::x).dtype()), cast(sum_channels(slope), stored), cast(sum_channels(dz), stored)};
  if (n.flag("residual")) out.push_back(cast(dz, n.in(Op::x).dtype()));
  return out;
}

}  // namespace

extern const OpDef kBatchNormGrad;
constexpr OpDef kBatchNormGrad = {"batch_norm_grad", batch_norm_grad_decomposition};

BatchNormGrad batch_norm_grad(Tensor dy, Tensor x, Tensor gamma, Tensor mean, Tensor var, Tensor y, bool with_residual,
                              const NormOptions& o) {
  const Tensors r = emit_all(
      "batch_norm_grad", {dy, x, gamma, mean, var, y},
      {{"eps", o.eps}, {"act", number_of(o.act)}, {"alpha", o.alpha}, {"group", o.group}, {"residual", with_residual}});
  return {r[0], r[1], r[2], with_residual ? r[3] : Tensor()};
}

}  // namespace tenon
