// Where dynamic dimensions go in products, convolutions and what layers are made of.
#include <limits>

#include "op/bound_rules.h"
#include "op/rules.h"

namespace tenon::bound_rules {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Ints all_axes_of(const BoundedNode& n, int i) {
  Ints axes;
  for (int a = 0; a < n.rank(i); ++a) axes.push_back(a);
  return axes;
}

// Refuses dynamic sizes of x[N, sizes.., C] in the words of TPUs, whose maps and windows are static.
void expect_static_sizes(const BoundedNode& n, int x, Graph& graph) {
  for (int a = 1; a + 1 < n.rank(x); ++a)
    if (n.is_dynamic(x, a))
      n.fail("Dynamic Spatial Convolution is not supported: lhs shape is ", graph.type_text(n.in(x).id()));
}

void expect_static_weights(const BoundedNode& n, int i) {
  if (!n.has(i)) return;
  for (int a = 0; a < n.rank(i); ++a) n.expect_static(i, a, "weights are static");
}

}  // namespace

// y[p..,m,n] = sum over k of a[p..,m,k] b[p..,k,n], + bias[n] + residual
void dot(BoundedNode& n) {
  using Op = op::dot_bias_act;
  const int r = n.rank(Op::a), ka = n.flag("ta") ? r - 2 : r - 1, kb = n.flag("tb") ? r - 1 : r - 2;
  const int rows = n.flag("ta") ? r - 1 : r - 2, columns = n.flag("tb") ? r - 2 : r - 1;
  n.common({{Op::a, ka}, {Op::b, kb}});
  n.mask(Op::a, {ka}, 0);
  n.mask(Op::b, {kb}, 0);
  Bounds y;
  for (int a = 0; a + 2 < r; ++a) y.push_back(n.common({{Op::a, a}, {Op::b, a}, {Op::residual, a}}));
  y.push_back(n.common({{Op::a, rows}, {Op::residual, r - 2}}));
  y.push_back(n.common({{Op::b, columns}, {Op::bias, 0}, {Op::residual, r - 1}}));
  n.result(0, y);
}

// The bias's gradient is the sum over all axes but the last.
void bias_act_grad(BoundedNode& n) {
  for (int i = 0; i < n.operands(); ++i) n.mask(i, leading_axes(n.rank(i)), 0);
  const Bounds y = n.together(0);
  n.result(op::bias_act_grad::out::dz, y);
  n.result(op::bias_act_grad::out::dbias, {y.back()});
}

void conv(BoundedNode& n) {
  using Op = op::conv_bias_act;
  expect_static_sizes(n, Op::x, *n.in(Op::x).graph());
  for (int i : {Op::w, Op::bias}) expect_static_weights(n, i);
  n.mask(Op::x, {n.rank(Op::x) - 1}, 0);
  Bounds y = static_bounds(n.type(0).shape);
  y[0] = n.common({{Op::x, 0}, {Op::residual, 0}});
  n.result(0, y);
}

void conv_grad_input(BoundedNode& n) {
  using Op = op::conv_grad_input;
  expect_static_sizes(n, Op::dy, *n.in(Op::dy).graph());
  expect_static_weights(n, Op::w);
  n.expect_static(Op::dy, -1, "filters are static");
  Bounds y = static_bounds(n.type(0).shape);
  y[0] = n.axis(Op::dy, 0);
  n.result(0, y);
}

void conv_grad_filter(BoundedNode& n) {
  for (int i = 0; i < 2; ++i) {
    expect_static_sizes(n, i, *n.in(i).graph());
    n.mask(i, {0, n.rank(i) - 1}, 0);
  }
}

// [N, sizes.., C] to another size; operands of rank 1 or 2 have a row for each image.
void images(BoundedNode& n) {
  Bounds y = static_bounds(n.type(0).shape);
  for (int i = 0; i < n.operands(); ++i) expect_static_sizes(n, i, *n.in(i).graph());
  y[0] = n.common({{0, 0}, {1, 0}, {2, 0}, {3, 0}});
  const int last = n.rank(0) - 1;
  y[static_cast<size_t>(last)] = n.axis(0, last);
  n.result(0, y);
}

void normalized_apply(BoundedNode& n) {
  n.expect_static(0, -1, "channels are static");
  n.result(0, n.together(0));
}

// Moments over a dynamic dimension count what is there: as primitives.
void layer_norm(BoundedNode& n) {
  using Op = op::layer_norm;
  for (int i : {Op::gamma, Op::beta}) expect_static_weights(n, i);
  const Ints& axes = n.list("axes");
  for (int64_t a : axes)
    if (n.is_dynamic(Op::x, static_cast<int>(a))) return n.decompose();
  const Bounds x = n.bounds(Op::x);
  Bounds moments;
  for (int64_t a : other_axes(axes, n.rank(Op::x))) moments.push_back(x[static_cast<size_t>(a)]);
  n.result(Op::out::y, x);
  n.result(Op::out::mean, moments);
  n.result(Op::out::var, moments);
}

void layer_norm_grad(BoundedNode& n) {
  using Op = op::layer_norm_grad;
  for (int64_t a : n.list("axes"))
    if (n.is_dynamic(Op::x, static_cast<int>(a))) return n.decompose();
  for (int i : {Op::dy, Op::x, Op::mean}) n.mask(i, all_axes_of(n, i), 0);
  n.mask(Op::var, all_axes_of(n, Op::var), 1);  // a variance whose root divides
  n.result(0, n.together(0));
}

// x[..,V], label[..] or [..,V]; loss and lse [..].
void cross_entropy(BoundedNode& n) {
  using Op = op::softmax_cross_entropy;
  n.expect_static(Op::x, -1, "classes are static");
  Bounds rows;
  for (int a = 0; a + 1 < n.rank(Op::x); ++a) rows.push_back(n.common({{Op::x, a}, {Op::label, a}}));
  n.result(Op::out::loss, rows);
  n.result(Op::out::lse, rows);
}

void cross_entropy_grad(BoundedNode& n) {
  using Op = op::softmax_cross_entropy_grad;
  n.expect_static(Op::x, -1, "classes are static");
  Bounds y;
  for (int a = 0; a + 1 < n.rank(Op::x); ++a)
    y.push_back(n.common({{Op::x, a}, {Op::dloss, a}, {Op::label, a}, {Op::lse, a}}));
  y.push_back(static_axis(n.shape(Op::x)[-1]));
  n.result(0, y);
}

namespace {

void expect_static_heads(const BoundedNode& n, int i) {
  for (int a : {2, 3}) n.expect_static(i, a, "heads are static");
}

// A bias that hides the keys which are not there.
Tensor hiding(const BoundedNode& n, int bias, const AxisBounds& keys, Tensor like) {
  Graph& graph = *like.graph();
  const int64_t size = like.dim(1);
  Tensor b = n.has(bias) ? n.in(bias) : full(graph, like.dtype(), {1, 1, 1, size}, 0);
  Shape wide = b.shape();
  wide.set(3, size);
  b = broadcast(b, wide, {0, 1, 2, 3});
  Bounds bounds = graph.bounds(b.id());
  bounds[3] = keys;
  return masked(with_bounds(b, bounds), {3}, -kInfinity);
}

}  // namespace

// q[B,T,N,D], k v[B,S,M,D], bias[B,N,T,S] -> y[B,T,N,D], lse[B,N,T]
void attention(BoundedNode& n) {
  using Op = op::attention;
  for (int i : {Op::q, Op::k, Op::v}) expect_static_heads(n, i);
  const AxisBounds batch = n.common({{Op::q, 0}, {Op::k, 0}, {Op::v, 0}, {Op::bias, 0}}),
                   queries = n.common({{Op::q, 1}, {Op::bias, 2}}),
                   keys = n.common({{Op::k, 1}, {Op::v, 1}, {Op::bias, 3}});
  if (n.flag("causal") && ends_of(queries) != ends_of(keys))
    n.refuse(Op::q, 1, "causal attention takes as many queries as keys");
  if (is_dynamic(keys)) {
    for (int i : {Op::k, Op::v}) {
      Bounds own = n.bounds(i);
      own[1] = keys;
      n.replace(i, masked(with_bounds(n.in(i), own), {1}, 0));
    }
    n.replace(Op::bias, hiding(n, Op::bias, keys, n.in(Op::k)));
  }
  Bounds y = static_bounds(n.type(Op::out::y).shape), lse = static_bounds(n.type(Op::out::lse).shape);
  y[0] = lse[0] = batch;
  y[1] = lse[2] = queries;
  n.result(Op::out::y, y);
  n.result(Op::out::lse, lse);
}

// dy q k v y lse bias -> dq dk dv [dbias]. Queries that are not there have the weight exp(.. - inf) = 0.
void attention_grad(BoundedNode& n) {
  using Op = op::attention_grad;
  for (int i : {Op::dy, Op::q, Op::k, Op::v, Op::y}) n.mask(i, {0, 1}, 0);
  n.mask(Op::lse, {0, 2}, kInfinity);
  if (n.has(Op::bias)) n.mask(Op::bias, {0, 2}, 0);
  const AxisBounds batch = n.common({{Op::dy, 0}, {Op::q, 0}, {Op::k, 0}, {Op::v, 0}, {Op::y, 0}, {Op::bias, 0}});
  const AxisBounds queries = n.common({{Op::dy, 1}, {Op::q, 1}, {Op::y, 1}, {Op::bias, 2}}),
                   keys = n.common({{Op::k, 1}, {Op::v, 1}, {Op::bias, 3}});
  const auto of = [&](int result, const AxisBounds& length) {
    Bounds y = static_bounds(n.type(result).shape);
    y[0] = batch;
    y[1] = length;
    n.result(result, y);
  };
  of(Op::out::dq, queries);
  of(Op::out::dk, keys);
  of(Op::out::dv, keys);
  if (n.flag("dbias")) n.result(Op::out::dbias, n.bounds(Op::bias));
}

// x[B,T,I], states [B,U] -> y[B,T,U], of lstm the last c[B,U], gates[B,T,..]. A step sees those before it only.
void recurrent(BoundedNode& n) {
  n.expect_static(0, 2, "features are static");
  const bool cell = n.type(1).shape.rank() == 2;
  const AxisBounds batch = n.common({{0, 0}, {1, 0}, {cell ? 2 : 1, 0}}), steps = n.axis(0, 1);
  for (int r : {0, cell ? 2 : 1}) n.result(r, {batch, steps, static_axis(n.type(r).shape[2])});
  if (!cell) return;
  n.result(1, {batch, static_axis(n.type(1).shape[1])});
  if (is_dynamic(steps)) n.result_undefined(1);
}

// What is not there counts 0 in each sum over rows and steps; the results are of x, the states and the weights.
void recurrent_grad(BoundedNode& n) {
  for (int i = 0; i < n.operands(); ++i) n.mask(i, all_axes_of(n, i), 0);
  const bool cell = n.rank(1) == 2;  // dc
  const int x = cell ? 2 : 1, states = cell ? 2 : 1;
  n.result(0, n.bounds(x));
  for (int s = 1; s <= states; ++s) n.result(s, {n.axis(x, 0), static_axis(n.shape(x + s)[1])});
}

}  // namespace tenon::bound_rules
