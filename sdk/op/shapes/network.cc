// Rules of products, normalizations, losses, attention and recurrent ops.
#include "op/shapes/rules.h"
#include "tenon/op/enumerations.h"

namespace tenon::op::shapes {
namespace {

Shape leading(const Shape& x) { return Shape(x.begin(), x.end() - 1); }

// ---- products ----

Type product(const Infer& c) {
  const Shape &a = c.shape(0), &b = c.shape(1);
  c.expect_same_dtype(0, 1);
  c.expect_rank(0, 2, TENON_MAX_RANK);
  c.expect_rank(1, a.rank(), a.rank());
  for (int i = 0; i + 2 < a.rank(); ++i)
    c.expect(a[i] == b[i], c.operand(1), " is ", c.in(1).str(), ", expected ", a[i], " in axis ", i);
  const bool ta = c.flag("ta"), tb = c.flag("tb");
  const int64_t sums_a = a[ta ? -2 : -1], sums_b = b[tb ? -1 : -2];
  c.expect(sums_a == sums_b, "sums over ", sums_a, " in operand 0 ", c.in(0).str(), " and ", sums_b, " in operand 1 ",
           c.in(1).str());
  Shape y = a;
  y.set(-2, a[ta ? -1 : -2]);
  y.set(-1, b[tb ? -2 : -1]);
  return {product_dtype(c), y};
}

// ---- normalizations ----

// Operands `first` to `last`, of one dtype, hold a number for each channel of x.
void expect_channels(const Infer& c, int x, int first, int last) {
  c.expect_rank(x, 2, TENON_MAX_RANK);
  for (int i = first; i <= last; ++i) c.expect_same_dtype(first, i), c.expect_shape(i, {c.shape(x)[-1]});
}

Shape moments(const Infer& c, int x, int gamma) {
  const Shape &shape = c.shape(x), &scale = c.shape(gamma);
  c.expect_rank(x, 1, TENON_MAX_RANK);
  c.expect_rank(gamma, 0, shape.rank());
  c.expect_shape(gamma, Shape(shape.end() - scale.rank(), shape.end()));
  const Ints axes = c.axes("axes", shape.rank());
  c.expect(!axes.empty(), "attribute 'axes' is empty");
  c.expect_at_least("eps", 0);
  return without(shape, axes);
}

// ---- losses ----

// A row of logits for each label, or for each row of probabilities.
Shape rows(const Infer& c, int logits, int label) {
  c.expect_finite("on");
  c.expect_finite("off");
  c.expect_rank(logits, 1, TENON_MAX_RANK);
  const Shape each = leading(c.shape(logits));
  if (is_float(c.dtype(label)))
    c.expect_same_type(logits, label);
  else
    c.expect_shape(label, each);
  return each;
}

// ---- attention ----

// q[B,T,N,D], k[B,S,M,D], v[B,S,M,V]; N is a multiple of M.
struct Attended {
  Type y, lse;
};
Attended attended(const Infer& c, int q, int k, int v, int bias) {
  for (const int i : {q, k, v}) c.expect_same_dtype(q, i), c.expect_rank(i, 4, 4);
  const Shape &x = c.shape(q), &keys = c.shape(k), &values = c.shape(v);
  const int64_t B = x[0], T = x[1], N = x[2], S = keys[1], M = keys[2];
  c.expect(keys[0] == B && keys[3] == x[3], c.operand(k), " is ", c.in(k).str(), ", expected ", B, " examples of size ",
           x[3], " as ", c.operand(q));
  c.expect_shape(v, {B, S, M, values[3]});
  c.expect(N >= 1 && M >= 1 && T >= 1 && S >= 1, c.operand(q), " is ", c.in(q).str(), " and ", c.operand(k), " is ",
           c.in(k).str(), ", expected heads and positions");
  c.expect(N % M == 0, c.operand(q), " has ", N, " heads, expected a multiple of the ", M, " of ", c.operand(k));
  if (c.has(bias)) {
    c.expect_same_dtype(q, bias);
    c.expect_rank(bias, 4, 4);
    const Shape full{B, N, T, S}, &b = c.shape(bias);
    for (int d = 0; d < 4; ++d)
      c.expect(b[d] == full[d] || b[d] == 1, c.operand(bias), " is ", c.in(bias).str(), ", expected ", full.str(),
               " or 1 in its place");
  }
  return {{c.dtype(q), {B, T, N, values[3]}}, {computed_in(c.dtype(q)), {B, N, T}}};
}

void dropped(const Infer& c, const Attended& a, int64_t keys, int seed) {
  c.expect_finite("scale");
  expect_draws(c, seed);
  const double rate = c.f64("rate");
  c.expect(rate >= 0 && rate < 1, "rate is ", rate, ", expected 0 to less than 1");
  if (rate == 0) return;
  for (const int i : {seed, seed + 1}) c.expect(c.has(i), "dropout needs ", c.operand(i));
  const Shape& lse = a.lse.shape;
  c.expect(Shape{lse[0], lse[1], lse[2], keys}.elements() <= (int64_t{1} << 34), "drops out of more than 2^34 scores");
}

// ---- recurrent ops ----

// x[B,T,I], `states` [B,U], w[I,gates U], r[U,gates U] and `biases` [gates U], from operand `x` and `w` on.
struct Cell {
  int x, states, w, biases, gates;
};
struct CellShapes {
  Shape y, state, gates;
};
CellShapes cell(const Infer& c, const Cell& k) {
  const int h = k.x + 1;
  c.expect_rank(k.x, 3, 3);
  c.expect_rank(h, 2, 2);
  const int64_t B = c.shape(k.x)[0], T = c.shape(k.x)[1], U = c.shape(h)[1], columns = k.gates * U;
  for (int i = k.x; i < k.w + 2 + k.biases; ++i) c.expect_same_dtype(k.x, i);
  for (int i = h; i < h + k.states; ++i) c.expect_shape(i, {B, U});
  c.expect_shape(k.w, {c.shape(k.x)[2], columns});
  c.expect_shape(k.w + 1, {U, columns});
  for (int i = k.w + 2; i < k.w + 2 + k.biases; ++i) c.expect_shape(i, {columns});
  return {{B, T, U}, {B, U}, {B, T, 4 * U}};
}

}  // namespace

int32_t product_dtype(const Infer& c) {
  const int32_t out = c.dtype("out"), operands = c.dtype(0);
  c.expect(out == 0 || out == TENON_F32 || out == operands || dtype_size(out) == 0, "attribute 'out' is ",
           dtype_text(out), ", expected ", dtype_text(operands), " or f32");
  return out == 0 ? operands : out;
}

void with_epilogue(Infer& c, const Type& y, int bias, int residual) {
  activation_number(c);
  for (const int i : {bias, residual})
    if (c.has(i) && !agree(c.in(i), {y.dtype, c.shape(i)}))
      fail(c.operand(i), " is ", c.in(i).str(), ", expected ", dtype_text(y.dtype), " as the result");
  c.expect_shape(bias, {y.shape[-1]});
  c.expect_shape(residual, y.shape);
  c.result(y);
}

void dot(Infer& c) { c.result(product(c)); }
void dot_bias_act(Infer& c) { with_epilogue(c, product(c), op::dot_bias_act::bias, op::dot_bias_act::residual); }

void bias_act_grad(Infer& c) {
  activation_number(c);
  c.expect_same_type(0, 1);
  c.expect_rank(0, 1, TENON_MAX_RANK);
  c.result(c.in(0));
  c.result(c.dtype(0), {c.shape(0)[-1]});
}

void batch_norm(Infer& c) {
  using from = op::batch_norm;
  expect_channels(c, from::x, from::gamma, from::beta);
  activation_number(c);
  c.expect_same_type(from::x, from::residual);
  c.expect_at_least("eps", 0);
  c.expect_number("group", 0, kMostReplicas);
  c.result(c.in(from::x));
  c.result(c.in(from::gamma));
  c.result(c.in(from::gamma));
}

void batch_norm_apply(Infer& c) {
  using from = op::batch_norm_apply;
  expect_channels(c, from::x, from::gamma, from::var);
  activation_number(c);
  c.expect_same_type(from::x, from::residual);
  c.expect_at_least("eps", 0);
  c.result(c.in(from::x));
}

void batch_norm_grad(Infer& c) {
  using from = op::batch_norm_grad;
  expect_channels(c, from::x, from::gamma, from::var);
  c.expect_same_type(from::x, from::dy);
  const int32_t act = activation_number(c);
  const bool known = enumeration("act")->has(act);  // another: a kernel's to refuse
  c.expect(act < TENON_ACT_GELU || !known, "activation ", enumeration("act")->text(act),
           " has no gradient from the result y");
  c.expect(c.has(from::y) || act == TENON_ACT_NONE || !known, c.operand(from::y), " is missing, the gradient of ",
           enumeration("act")->text(act), " needs it");
  c.expect_same_type(from::x, from::y);
  c.expect_number("group", 0, kMostReplicas);
  c.result(c.in(from::x));
  c.result(c.in(from::gamma));
  c.result(c.in(from::gamma));
  if (c.flag("residual")) c.result(c.in(from::x));
}

void layer_norm(Infer& c) {
  using from = op::layer_norm;
  const Shape m = moments(c, from::x, from::gamma);
  c.expect_same_type(from::gamma, from::beta);
  c.result(c.in(from::x));
  c.result(c.dtype(from::gamma), m);
  c.result(c.dtype(from::gamma), m);
}

void layer_norm_grad(Infer& c) {
  using from = op::layer_norm_grad;
  const Shape m = moments(c, from::x, from::gamma);
  c.expect_same_type(from::x, from::dy);
  for (const int i : {from::mean, from::var}) c.expect_type(i, {c.dtype(from::gamma), m});
  c.result(c.in(from::x));
  c.result(c.in(from::gamma));
  if (c.flag("beta")) c.result(c.in(from::gamma));
}

void softmax(Infer& c) {
  c.expect_rank(0, 1, TENON_MAX_RANK);
  c.axis(c.in(0));
  c.result(c.in(0));
}
void log_softmax(Infer& c) { softmax(c); }
void softmax_grad(Infer& c) { c.expect_same_type(0, 1), softmax(c); }
void log_softmax_grad(Infer& c) { softmax_grad(c); }

void logsumexp(Infer& c) { c.result(c.dtype(0), without(c.shape(0), c.axes("axes", c.shape(0).rank()))); }

void softmax_cross_entropy(Infer& c) {
  using from = op::softmax_cross_entropy;
  const Type loss{computed_in(c.dtype(from::x)), rows(c, from::x, from::label)};
  c.result(loss);
  c.result(loss);
}

void softmax_cross_entropy_grad(Infer& c) {
  using from = op::softmax_cross_entropy_grad;
  const Type loss{computed_in(c.dtype(from::x)), rows(c, from::x, from::label)};
  for (const int i : {from::dloss, from::lse}) c.expect_type(i, loss);
  c.result(c.in(from::x));
}

void attention(Infer& c) {
  using from = op::attention;
  const Attended a = attended(c, from::q, from::k, from::v, from::bias);
  dropped(c, a, c.shape(from::k)[1], from::seed);
  c.result(a.y);
  c.result(a.lse);
}

void attention_grad(Infer& c) {
  using from = op::attention_grad;
  const Attended a = attended(c, from::q, from::k, from::v, from::bias);
  dropped(c, a, c.shape(from::k)[1], from::seed);
  for (const int i : {from::dy, from::y}) c.expect_type(i, a.y);
  c.expect_type(from::lse, a.lse);
  c.expect(c.has(from::bias) || !c.flag("dbias"), "dbias needs ", c.operand(from::bias));
  for (const int i : {from::q, from::k, from::v}) c.result(c.in(i));
  if (c.flag("dbias")) c.result(c.in(from::bias));
}

void lstm(Infer& c) {
  using from = op::lstm;
  const CellShapes s = cell(c, {from::x, 2, from::w, 1, 4});
  for (const Shape& shape : {s.y, s.state, s.gates}) c.result(c.dtype(from::x), shape);
}

void lstm_grad(Infer& c) {
  using from = op::lstm_grad;
  const CellShapes s = cell(c, {from::x, 2, from::w, 1, 4});
  const int32_t dtype = c.dtype(from::x);
  for (const int i : {from::dy, from::y}) c.expect_type(i, {dtype, s.y});
  c.expect_type(from::dc, {dtype, s.state});
  c.expect_type(from::gates, {dtype, s.gates});
  for (const int i : {from::x, from::h, from::c, from::w, from::r, from::b}) c.result(c.in(i));
}

void gru(Infer& c) {
  using from = op::gru;
  const CellShapes s = cell(c, {from::x, 1, from::w, 2, 3});
  for (const Shape& shape : {s.y, s.gates}) c.result(c.dtype(from::x), shape);
}

void gru_grad(Infer& c) {
  using from = op::gru_grad;
  const CellShapes s = cell(c, {from::x, 1, from::w, 2, 3});
  const int32_t dtype = c.dtype(from::x);
  for (const int i : {from::dy, from::y}) c.expect_type(i, {dtype, s.y});
  c.expect_type(from::gates, {dtype, s.gates});
  for (const int i : {from::x, from::h, from::w, from::r, from::b, from::rb}) c.result(c.in(i));
}

}  // namespace tenon::op::shapes
