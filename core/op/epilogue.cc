// What dot_bias_act, conv_bias_act and batch normalisation do after their sums.
#include <cmath>

#include "op/rules.h"

namespace tenon {

DType compute_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

Tensor widened(Tensor x) { return cast(x, compute_dtype(x.dtype())); }

Tensor wide_dot(Tensor a, Tensor b, bool ta, bool tb) {
  DotOptions o;
  o.ta = ta;
  o.tb = tb;
  o.out = compute_dtype(b.dtype());
  return dot(cast(a, b.dtype()), b, o);
}

Tensor constant_of(Graph& graph, DType dtype, const Shape& shape, const std::vector<double>& values) {
  std::string bytes;
  for (const double value : values) bytes += element(dtype, value);
  return constant(graph, {dtype, shape}, bytes);
}

Activation activation_of(const AttrReader& a) { return static_cast<Activation>(a.enumerator("act")); }

Tensor epilogue(Tensor z, Tensor bias, Tensor residual, const AttrReader& a, DType dtype) {
  const DType compute = compute_dtype(dtype);
  z = cast(z, compute);
  if (bias) z = add(z, broadcast_trailing(cast(bias, compute), z.shape()));
  if (residual) z = add(z, cast(residual, compute));
  return cast(activation(z, activation_of(a), a.f64("alpha")), dtype);
}

BiasActGrad epilogue_gradient(const Gradient& n, Tensor t, bool needs_bias) {
  const Activation act = activation_of(n);
  const Tensor g = n.g(0);
  if (act == Activation::kNone)  // nothing is written again, only summed
    return {g, needs_bias ? reduce(g, leading_axes(g.rank()), ReduceKind::kSum) : Tensor()};
  if (needs_bias) return bias_act_grad(g, t, act, n.f64("alpha"));
  return {activation_grad(g, t, act, n.f64("alpha")), Tensor()};
}

}  // namespace tenon
