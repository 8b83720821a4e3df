#include "op/network/attention_scores.h"

namespace tenon {
namespace {

// The softmax, from its lse; 0 for keys that are hidden and for queries that saw none.
Tensor probabilities(const Decompose& n) {
  using Op = op::attention_grad;
  const Tensor s = scores(n.in(Op::q), n.in(Op::k), n.in(Op::bias), n.f64("scale")), lse = n.in(Op::lse);
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor none = compare(lse, scalar_like(lse, -inf), CompareKind::kEq);
  const Tensor p = exp(s - expand_reduced(select(none, scalar_like(lse, inf), lse), s.shape(), {3}));
  return n.flag("causal") ? hide_future(p, 0) : p;
}

// Summed over the axes along which the bias was repeated.
Tensor bias_gradient(Tensor ds, Tensor bias) {
  Ints axes;
  for (int i = 0; i < 4; ++i)
    if (bias.dim(i) == 1 && ds.dim(i) != 1) axes.push_back(i);
  return cast(reshape(reduce(ds, axes, ReduceKind::kSum), bias.shape()), bias.dtype());
}

Tensors attention_grad_decomposition(const Decompose& n) {
  using Op = op::attention_grad;
  const Tensor dy = n.in(Op::dy), q = n.in(Op::q), k = n.in(Op::k), v = n.in(Op::v);
  const int64_t M = k.dim(2), T = q.dim(1), S = k.dim(1);
  const double scale = n.f64("scale");
  const Tensor p = probabilities(n);
  const Shape grouped{q.dim(0), M, q.dim(2) / M * T, S};
  const auto drop = [&](Tensor x) { return dropped(x, n, n.in(Op::seed), n.in(Op::step)); };
  const Tensor dy_heads = by_head(dy, M), q_heads = by_head(q, M), k_heads = by_head(k, M);
  const Tensor dv = wide_dot(reshape(drop(p), grouped), dy_heads, true);
  const Tensor dp = drop(reshape(wide_dot(dy_heads, by_head(v, M), false, true), p.shape()));
  const Tensor delta = transpose(reduce_sum(widened(dy) * widened(n.in(Op::y)), {3}), {0, 2, 1});
  const Tensor ds = p * (dp - expand_reduced(delta, p.shape(), {3}));
  const Tensor scaled = reshape(scale * ds, grouped);
  Tensors out{cast(by_time(wide_dot(scaled, k_heads), T), q.dtype()),
              cast(by_time(wide_dot(scaled, q_heads, true), S), k.dtype()), cast(by_time(dv, S), v.dtype())};
  if (n.flag("dbias")) out.push_back(bias_gradient(ds, n.in(Op::bias)));
  return out;
}

}  // namespace

extern const OpDef kAttentionGrad;
constexpr OpDef kAttentionGrad = {"attention_grad", attention_grad_decomposition};

AttentionGrad attention_grad(Tensor dy, Tensor q, Tensor k, Tensor v, Tensor bias, Tensor seed, Tensor step, Tensor y,
                             Tensor lse, const AttentionOptions& o) {
  const Tensors d = emit_all("attention_grad", {dy, q, k, v, y, lse, bias, seed, step},
                             {{"scale", o.scale},
                              {"causal", o.causal},
                              {"rate", o.rate},
                              {"stream", o.stream},
                              {"first", o.first},
                              {"dbias", static_cast<bool>(bias)}});
  return {d[0], d[1], d[2], d.size() > 3 ? d[3] : Tensor()};
}

}  // namespace tenon
