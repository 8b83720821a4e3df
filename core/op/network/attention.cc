#include "op/network/attention_scores.h"

namespace tenon {

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
  return a.f64("rate") > 0 ? dropout(x, seed, step, Tensor(), a.f64("rate"), a.i64("stream"), a.i64("first")) : x;
}

namespace {

Tensors attention_decomposition(const Decompose& n) {
  using Op = op::attention;
  const Tensor q = n.in(Op::q), k = n.in(Op::k), v = n.in(Op::v);
  Tensor s = scores(q, k, n.in(Op::bias), n.f64("scale"));
  if (n.flag("causal")) s = hide_future(s, -std::numeric_limits<double>::infinity());
  const Tensor top = reduce(s, {3}, ReduceKind::kMax), zero = scalar_like(s, 0), one = scalar_like(s, 1);
  // A query that sees no key: its exponents are of -inf - 0, its sum is 0.
  const Tensor none = scalar_like(s, -std::numeric_limits<double>::infinity());
  const Tensor max = select(compare(top, none, CompareKind::kEq), zero, top);
  const Tensor e = exp(s - expand_reduced(max, s.shape(), {3}));
  const Tensor sum = reduce(e, {3}, ReduceKind::kSum);
  const Tensor divisor = select(compare(sum, zero, CompareKind::kEq), one, sum);
  const Tensor p = dropped(e / expand_reduced(divisor, s.shape(), {3}), n, n.in(Op::seed), n.in(Op::step));
  const int64_t M = k.dim(2), S = k.dim(1);
  const Tensor y = wide_dot(reshape(p, {q.dim(0), M, q.dim(2) / M * q.dim(1), S}), by_head(v, M));
  return {cast(by_time(y, q.dim(1)), q.dtype()), max + log(sum)};
}

Tensors attention_gradient(const Gradient& n) {
  using Op = op::attention;
  if (!n.g(Op::out::y) || n.g(Op::out::lse)) return {};
  Attrs attrs = n.attrs();
  attrs.push_back({"dbias", n.needs(Op::bias)});
  const Tensors d = emit(n.graph(), "attention_grad",
                         {n.g(Op::out::y), n.in(Op::q), n.in(Op::k), n.in(Op::v), n.out(Op::out::y),
                          n.out(Op::out::lse), n.in(Op::bias), n.in(Op::seed), n.in(Op::step)},
                         attrs);
  return {d[0], d[1], d[2], n.needs(Op::bias) ? d[3] : Tensor()};
}

}  // namespace

extern const OpDef kAttention;
constexpr OpDef kAttention = {"attention", attention_decomposition, attention_gradient};

Attended attention(Tensor q, Tensor k, Tensor v, Tensor bias, Tensor seed, Tensor step, const AttentionOptions& o) {
  const Tensors r =
      emit_all("attention", {q, k, v, bias, seed, step},
               {{"scale", o.scale}, {"causal", o.causal}, {"rate", o.rate}, {"stream", o.stream}, {"first", o.first}});
  return {r[0], r[1]};
}

}  // namespace tenon
