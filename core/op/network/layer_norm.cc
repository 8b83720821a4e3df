#include "op/network/batch_norm.h"

namespace tenon {
namespace {

Tensor repeated(const AttrReader& a, Tensor moment, Tensor x) {
  return expand_reduced(moment, x.shape(), a.list("axes"));
}

Tensors layer_norm_decomposition(const Decompose& n) {
  using Op = op::layer_norm;
  const DType compute = norm_dtype(n.in(Op::x), n.in(Op::gamma)), stored = n.in(Op::gamma).dtype();
  const Ints& axes = n.list("axes");
  const Tensor x = cast(n.in(Op::x), compute);
  Tensor centred = x, mean;
  if (n.flag("center")) {
    mean = reduce_mean(x, axes);
    centred = x - repeated(n, mean, x);
  }
  const Tensor var = reduce_mean(square(centred), axes);
  if (!mean) mean = full_like(var, 0);
  const Tensor normal = centred * repeated(n, inverse_deviation(var, n.f64("eps")), x);
  Tensor y = normal * broadcast_trailing(cast(n.in(1), compute), x.shape());
  if (n.has(2)) y = y + broadcast_trailing(cast(n.in(2), compute), x.shape());
  return {cast(y, n.in(0).dtype()), cast(mean, stored), cast(var, stored)};
}

Tensors layer_norm_gradient(const Gradient& n) {
  using Op = op::layer_norm;
  if (n.g(Op::out::mean) || n.g(Op::out::var)) return {};
  const LayerNormGrad d =
      layer_norm_grad(n.g(Op::out::y), n.in(Op::x), n.in(Op::gamma), n.out(Op::out::mean), n.out(Op::out::var),
                      n.list("axes"), n.f64("eps"), n.flag("center"), n.needs(Op::beta));
  return {d.dx, d.dgamma, d.dbeta};
}

Tensors layer_norm_grad_decomposition(const Decompose& n) {
  using Op = op::layer_norm_grad;
  const DType compute = norm_dtype(n.in(Op::x), n.in(Op::gamma)), stored = n.in(Op::gamma).dtype();
  const Ints& axes = n.list("axes");
  const auto wide = [&](int i) { return cast(n.in(i), compute); };
  const Tensor dy = wide(Op::dy), x = wide(Op::x), gamma = wide(Op::gamma);
  const Tensor inverse = repeated(n, inverse_deviation(wide(Op::var), n.f64("eps")), x);
  const Tensor normal = (n.flag("center") ? x - repeated(n, wide(Op::mean), x) : x) * inverse;
  const Tensor g = dy * broadcast_trailing(gamma, x.shape());
  Tensor centred = g - normal * repeated(n, reduce_mean(g * normal, axes), x);
  if (n.flag("center")) centred = centred - repeated(n, reduce_mean(g, axes), x);
  Ints leading;
  for (int i = 0; i < x.rank() - gamma.rank(); ++i) leading.push_back(i);
  const auto sum = [&](Tensor t) { return cast(reduce(t, leading, ReduceKind::kSum), stored); };
  Tensors out{cast(centred * inverse, n.in(Op::x).dtype()), sum(dy * normal)};
  if (n.flag("beta")) out.push_back(sum(dy));
  return out;
}

}  // namespace

extern const OpDef kLayerNorm;
constexpr OpDef kLayerNorm = {"layer_norm", layer_norm_decomposition, layer_norm_gradient};

extern const OpDef kLayerNormGrad;
constexpr OpDef kLayerNormGrad = {"layer_norm_grad", layer_norm_grad_decomposition};

Normalized layer_norm(Tensor x, Tensor gamma, Tensor beta, const Ints& axes, double eps, bool center) {
  const Tensors r = emit_all("layer_norm", {x, gamma, beta},
                             {{"eps", eps}, {"axes", positive_axes("layer_norm", x, axes)}, {"center", center}});
  return {r[0], r[1], r[2]};
}

LayerNormGrad layer_norm_grad(Tensor dy, Tensor x, Tensor gamma, Tensor mean, Tensor var, const Ints& axes, double eps,
                              bool center, bool with_beta) {
  const Tensors r = emit_all(
      "layer_norm_grad", {dy, x, gamma, mean, var},
      {{"eps", eps}, {"axes", positive_axes("layer_norm_grad", x, axes)}, {"center", center}, {"beta", with_beta}});
  return {r[0], r[1], with_beta ? r[2] : Tensor()};
}

}  // namespace tenon
