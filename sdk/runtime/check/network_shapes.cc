// Shape rules of normalizations, losses, dropout, attention and recurrent ops.
#include <algorithm>

#include "runtime/check/shape_rules.h"

namespace tenon::plugin {
namespace {

// ---- normalizations ----

void channels(const Asked& a, int x, int first, int last) {
  a.rank(x, 2, TENON_MAX_RANK);
  for (int i = first; i <= last; ++i) a.same_dtype(first, i), a.in_is(i, {a.in(x).back()});
}
void batch_norm(const Asked& a) {
  channels(a, 0, 1, 2);
  a.in_same(3, 0), a.out_same(0, 0), a.out_same(1, 1), a.out_same(2, 1);
  a.number("group", 0, 65536, 1);
}
void batch_norm_apply(const Asked& a) { channels(a, 0, 1, 4), a.in_same(5, 0), a.out_same(0, 0); }
void batch_norm_grad(const Asked& a) {
  channels(a, 1, 2, 4);
  a.in_same(0, 1), a.in_same(5, 1);
  const int32_t act = a.n.enumerator("act");
  const bool needs_y = act > TENON_ACT_NONE && act <= TENON_ACT_HARD_SWISH;
  Asked::expect(a.has(5) || !needs_y, "operand 5 'y' is missing");
  a.out_same(0, 1), a.out_same(1, 2), a.out_same(2, 2), a.out_same(3, 1);
  a.number("group", 0, 65536, 1);
}
Dims moments(const Asked& a, int x, int gamma) {
  const Dims shape = a.in(x), scale = a.in(gamma), axes = a.increasing("axes", shape.size());
  if (!(!axes.empty() && scale.size() <= shape.size() &&
        std::equal(scale.begin(), scale.end(), shape.end() - static_cast<int64_t>(scale.size()))))
    Asked::fail("gamma " + text_of(scale) + " is no trailing part of " + text_of(shape) + ", or there are no axes");
  return without(shape, axes);
}
void layer_norm(const Asked& a) {
  const Dims m = moments(a, 0, 1);
  a.in_same(2, 1), a.out_same(0, 0);
  for (int i = 1; i < 3; ++i) a.out_dtype(i, a.dtype(1)), a.out_is(i, m);
}
void layer_norm_grad(const Asked& a) {
  const Dims m = moments(a, 1, 2);
  for (int i = 3; i < 5; ++i) a.same_dtype(2, i), a.in_is(i, m);
  a.in_same(0, 1), a.out_same(0, 1), a.out_same(1, 2), a.out_same(2, 2);
}

// ---- losses, dropout, attention ----

Dims rows(const Asked& a, int x, int label) {
  a.rank(x, 1, TENON_MAX_RANK);
  if (is_float(a.dtype(label)))
    a.in_same(label, x);
  else
    a.in_is(label, leading(a.in(x)));
  return leading(a.in(x));
}
void cross_entropy(const Asked& a) {
  const Dims r = rows(a, 0, 1);
  for (int i = 0; i < 2; ++i) a.out_dtype(i, computes_in(a.dtype(0))), a.out_is(i, r);
}
void cross_entropy_grad(const Asked& a) {
  const Dims r = rows(a, 1, 2);
  for (const int i : {0, 3}) {
    a.in_is(i, r);
    if (!a.has_dtype(i, computes_in(a.dtype(1)))) Asked::fail("operand " + std::to_string(i) + " has another dtype");
  }
  a.out_same(0, 1);
}
void dropout(const Asked& a) { scalars_of_draws(a, 1), a.in_same(3, 0), a.out_same(0, 0); }

// q[B,T,N,D] k[B,S,M,D] v[B,S,M,V]; returns y's shape.
Dims attended(const Asked& a, int q, int k, int v, int bias) {
  for (const int i : {q, k, v}) a.rank(i, 4, 4), a.same_dtype(q, i);
  const Dims x = a.in(q), y = a.in(k);
  a.in_is(k, {x[0], y[1], y[2], x[3]});
  a.in_is(v, {x[0], y[1], y[2], a.in(v)[3]});
  if (!(x[2] % y[2] == 0)) Asked::fail("heads of " + text_of(x) + " are no multiple of those of " + text_of(y));
  if (a.has(bias)) {
    a.rank(bias, 4, 4), a.same_dtype(q, bias);
    const Dims full{x[0], x[2], x[1], y[1]}, b = a.in(bias);
    for (size_t d = 0; d < 4; ++d)
      if (!(b[d] == 1 || b[d] == full[d]))
        Asked::fail("the bias " + text_of(b) + " does not broadcast to " + text_of(full));
  }
  scalars_of_draws(a, bias + 1);
  const bool drops = a.n.f64("rate") != 0;
  Asked::expect(!drops || (a.has(bias + 1) && a.has(bias + 2)), "drops out, but has no seed and step");
  return {x[0], x[1], x[2], a.in(v)[3]};
}
void attention(const Asked& a) {
  const Dims y = attended(a, 0, 1, 2, 3);
  a.out_dtype(0, a.dtype(0)), a.out_is(0, y);
  a.out_dtype(1, computes_in(a.dtype(0))), a.out_is(1, {y[0], y[2], y[1]});
}
void attention_grad(const Asked& a) {
  const Dims y = attended(a, 1, 2, 3, 6);
  for (const int i : {0, 4}) a.same_dtype(1, i), a.in_is(i, y);
  a.in_is(5, {y[0], y[2], y[1]});
  Asked::expect(a.has_dtype(5, computes_in(a.dtype(1))), "operand 5 has another dtype");
  Asked::expect(a.has(6) || !a.n.flag("dbias"), "there is no bias to differentiate by");
  for (int i = 0; i < 3; ++i) a.out_same(i, i + 1);
  if (a.n.has_result(3)) a.in_is(6, a.in(6)), Asked::expect(a.has(6), "has dbias, but no bias"), a.out_same(3, 6);
}

// ---- recurrent ops ----

struct Cell {
  int x, states, w, biases;
  int64_t gates;
};
struct CellSizes {
  int64_t b, t, u;
};
CellSizes cell(const Asked& a, const Cell& c) {
  a.rank(c.x, 3, 3), a.rank(c.x + 1, 2, 2);
  const Dims x = a.in(c.x);
  const int64_t u = a.in(c.x + 1)[1], columns = c.gates * u;
  for (int i = c.x; i < c.w + 2 + c.biases; ++i) a.same_dtype(c.x, i);
  for (int i = c.x + 1; i < c.x + 1 + c.states; ++i) a.in_is(i, {x[0], u});
  a.in_is(c.w, {x[2], columns}), a.in_is(c.w + 1, {u, columns});
  for (int i = c.w + 2; i < c.w + 2 + c.biases; ++i) a.in_is(i, {columns});
  return {x[0], x[1], u};
}
void lstm(const Asked& a) {
  const CellSizes s = cell(a, {0, 2, 3, 1, 4});
  a.out_is(0, {s.b, s.t, s.u}), a.out_is(1, {s.b, s.u}), a.out_is(2, {s.b, s.t, 4 * s.u});
  for (int i = 0; i < 3; ++i) a.out_dtype(i, a.dtype(0));
}
void gru(const Asked& a) {
  const CellSizes s = cell(a, {0, 1, 2, 2, 3});
  a.out_is(0, {s.b, s.t, s.u}), a.out_is(1, {s.b, s.t, 4 * s.u});
  for (int i = 0; i < 2; ++i) a.out_dtype(i, a.dtype(0));
}
// Operands x.. of the op whose gradient it is come from `x` on, then y and the gates.
void cell_grad(const Asked& a, const Cell& c, int y) {
  const CellSizes s = cell(a, c);
  for (const int i : {0, y, y + 1}) a.same_dtype(c.x, i);
  a.in_is(0, {s.b, s.t, s.u}), a.in_is(y, {s.b, s.t, s.u}), a.in_is(y + 1, {s.b, s.t, 4 * s.u});
  for (int i = 0; i < a.n.results(); ++i) a.out_same(i, c.x + i);
}
void lstm_grad(const Asked& a) {
  cell_grad(a, {2, 2, 5, 1, 4}, 8);
  a.same_dtype(2, 1), a.in_is(1, a.in(3));
}
void gru_grad(const Asked& a) { cell_grad(a, {1, 1, 3, 2, 3}, 7); }

constexpr ShapeRule kNetworkRules[] = {
    {" batch_norm ", batch_norm},
    {" batch_norm_apply ", batch_norm_apply},
    {" batch_norm_grad ", batch_norm_grad},
    {" layer_norm ", layer_norm},
    {" layer_norm_grad ", layer_norm_grad},
    {" softmax_cross_entropy ", cross_entropy},
    {" softmax_cross_entropy_grad ", cross_entropy_grad},
    {" dropout ", dropout},
    {" attention ", attention},
    {" attention_grad ", attention_grad},
    {" lstm ", lstm},
    {" lstm_grad ", lstm_grad},
    {" gru ", gru},
    {" gru_grad ", gru_grad},
};

}  // namespace

Span<ShapeRule> network_rules() { return {kNetworkRules, std::size(kNetworkRules)}; }

}  // namespace tenon::plugin
