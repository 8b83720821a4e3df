#include "op/network/attention.h"

namespace tenon {
namespace attention_op {

Tensor by_head(Tensor x, int64_t heads) {
  const Shape& s = x.shape();
  return reshape(transpose(x, {0, 2, 1, 3}), {s[0], heads, s[2] / heads * s[1], s[3]});
}

Tensor by_time(Tensor x, int64_t length) {
  const Shape& s = x.shape();
  const int64_t heads = s[1] * s[2] / length;
  return transpose(reshape(x, {s[0], heads, length, s[3]}), {0, 2, 1, 3});
}

Tensor scores(Tensor q, Tensor k, Tensor bias, double scale) {
  const int64_t M = k.dim(2);
  const Shape full{q.dim(0), q.dim(2), q.dim(1), k.dim(1)};
  const Tensor s = scale * reshape(wide_dot(by_head(q, M), by_head(k, M), false, true), full);
  return bias ? s + broadcast(widened(bias), full, {0, 1, 2, 3}) : s;
}

Tensor hide_future(Tensor x, double hidden) {
  const int64_t T = x.dim(2), S = x.dim(3);
  const Tensor i = iota(*x.graph(), DType::kI32, {T, S}, 0), j = iota(*x.graph(), DType::kI32, {T, S}, 1);
  const Tensor seen = compare(j, i + static_cast<double>(S - T), CompareKind::kLe);
  return select(broadcast_trailing(seen, x.shape()), x, full_like(x, hidden));
}

Tensor dropped(Tensor x, const AttrReader& a, Tensor seed, Tensor step) {
  return a.f64("rate") > 0 ? dropout(x, seed, step, Tensor(), a.f64("rate"), a.i64("stream")) : x;
}

Tensors decompose_rule(const Decompose& n) {
  const Tensor q = n.in(0), k = n.in(1), v = n.in(2);
  Tensor s = scores(q, k, n.in(3), n.f64("scale"));
  if (n.flag("causal")) s = hide_future(s, -std::numeric_limits<double>::infinity());
  const Tensor top = reduce(s, {3}, ReduceKind::kMax), zero = scalar_like(s, 0), one = scalar_like(s, 1);
  // A query that sees no key: its exponents are of -inf - 0, its sum is 0.
  const Tensor none = scalar_like(s, -std::numeric_limits<double>::infinity());
  const Tensor max = select(compare(top, none, CompareKind::kEq), zero, top);
  const Tensor e = exp(s - expand_reduced(max, s.shape(), {3}));
  const Tensor sum = reduce(e, {3}, ReduceKind::kSum);
  const Tensor divisor = select(compare(sum, zero, CompareKind::kEq), one, sum);
  const Tensor p = dropped(e / expand_reduced(divisor, s.shape(), {3}), n, n.in(4), n.in(5));
  const int64_t M = k.dim(2), S = k.dim(1);
  const Tensor y = wide_dot(reshape(p, {q.dim(0), M, q.dim(2) / M * q.dim(1), S}), by_head(v, M));
  return {cast(by_time(y, q.dim(1)), q.dtype()), max + log(sum)};
}

Tensors gradient_rule(const Gradient& n) {
  if (!n.g(0) || n.g(1)) return {};
  Attrs attrs = n.attrs();
  attrs.push_back({"dbias", n.needs(3)});
  const Tensors d = emit(n.graph(), "attention_grad",
                         {n.g(0), n.in(0), n.in(1), n.in(2), n.out(0), n.out(1), n.in(3), n.in(4), n.in(5)}, attrs);
  return {d[0], d[1], d[2], n.needs(3) ? d[3] : Tensor()};
}

}  // namespace attention_op

extern const OpDef kAttention;
constexpr OpDef kAttention = {"attention", attention_op::decompose_rule, attention_op::gradient_rule};

Attention attention(Tensor q, Tensor k, Tensor v, Tensor bias, Tensor seed, Tensor step, const AttentionOptions& o) {
  const Tensors r = emit_all("attention", {q, k, v, bias, seed, step},
                             {{"scale", o.scale}, {"causal", o.causal}, {"rate", o.rate}, {"stream", o.stream}});
  return {r[0], r[1]};
}

}  // namespace tenon
