// Connectionist temporal classification, by the recursion over steps in logarithms: labels with blanks around them are
// states, and a step stays, goes on by one, or leaves out the blank between two labels that differ.
#include "layer/loss/loss_parts.h"
#include "layer/object/masks.h"
#include "op/rules.h"

namespace tenon {
namespace {

constexpr const char* kCtc = "ctc";
constexpr double kNever = -1e5;  // log of no probability, as Keras has it: infinity would make gradients NaN

Tensor between(Tensor x, int64_t axis, int64_t from, int64_t to) {
  Ints start(static_cast<size_t>(x.rank()), 0), limit = x.shape().vec();
  start[static_cast<size_t>(axis)] = from, limit[static_cast<size_t>(axis)] = to;
  return slice(x, start, limit, {});
}

// What state s - by has, for each state s.
Tensor from_before(Tensor x, int64_t by, double none) {
  return pad(between(x, 1, 0, x.dim(1) - by), {0, by}, {0, 0}, {0, 0}, none);
}

// The steps of x[T,B,S], by halves: so the gradient of one is not padded to the size of all.
void split(Tensor x, Tensors& steps) {
  const int64_t n = x.dim(0);
  if (n == 1) return steps.push_back(reshape(x, {x.dim(1), x.dim(2)}));
  split(between(x, 0, 0, n / 2), steps);
  split(between(x, 0, n / 2, n), steps);
}

Tensor most_of(const Tensors& xs) {
  Tensor most = xs[0];
  for (const Tensor& x : xs) most = maximum(most, x);
  return stop_gradient(most);
}

// log of the sum of exp.
Tensor summed(const Tensors& logs) {
  const Tensor most = most_of(logs);
  Tensor sum;
  for (const Tensor& x : logs) sum = sum ? sum + exp(x - most) : exp(x - most);
  return most + log(sum);
}

Tensor integers(const char* what, Tensor x, const Shape& expected) {
  const Tensor whole = as_indices(x);
  if (!(x.shape() == expected) || !is_integer(whole.dtype()))
    fail(kCtc, ": ", what, " are ", x.type().str(), ", expected integers ", expected.str());
  return cast(whole, DType::kI32);
}

struct Sequences {
  Tensor labels, logits;              // i32[B,N], [B,T,V]
  Tensor label_length, input_length;  // i32[B]; the second may be absent: all
};

Sequences checked(Tensor y_true, Tensor y_pred, const CtcOptions& o) {
  if (!y_true || !y_pred) fail(kCtc, ": labels or predictions were never set");
  if (y_pred.rank() != 3 || !is_float(y_pred.dtype()) || y_pred.elements() < 1)
    fail(kCtc, ": predictions are ", y_pred.type().str(), ", expected floats [batch, steps, classes]");
  const Shape each{y_pred.dim(0)};
  if (y_true.rank() != 2 || y_true.elements() < 1)
    fail(kCtc, ": labels are ", y_true.type().str(), ", expected integers [", each[0], ",n]");
  Sequences s{integers("labels", y_true, {each[0], y_true.dim(1)}), widened(y_pred), o.label_length, o.input_length};
  if (s.label_length)
    s.label_length = integers("label lengths", s.label_length, each);
  else
    s.label_length = reduce_sum(cast(compare(s.labels, scalar_like(s.labels, 0), CompareKind::kNe), DType::kI32), {1});
  if (s.input_length)
    s.input_length = integers("input lengths", s.input_length, each);
  else if (const Tensor mask = mask_of(y_pred); mask && mask.rank() == 2)
    s.input_length = reduce_sum(cast(mask, DType::kI32), {1});
  return s;
}

// log of the probability to be in each state after the last step: [B, 2 N + 1].
Tensor last_states(const Sequences& s) {
  const Tensor states = pad(s.labels, {0, 1}, {0, 1}, {0, 1}, 0);  // 0 a 0 b 0
  const Shape& shape = states.shape();
  const Tensor zero = scalar_like(states, 0);
  const Tensor skips =
      minimum(compare(states, zero, CompareKind::kNe), compare(states, from_before(states, 2, 0), CompareKind::kNe));
  Tensors emitted;
  split(transpose(gather(log_softmax(s.logits), states, 2, 1), {1, 0, 2}), emitted);
  const Tensor never = full_like(emitted[0], kNever);
  const Tensor first = compare(iota(*states.graph(), DType::kI32, shape, 1), zero, CompareKind::kEq);
  Tensor at = select(first, zeros_like(never), never);
  for (size_t t = 0; t < emitted.size(); ++t) {
    const Tensor leap = select(skips, from_before(at, 2, kNever), never);
    const Tensor next = summed({at, from_before(at, 1, kNever), leap}) + emitted[t];
    if (!s.input_length) {
      at = next;
      continue;
    }
    const Tensor step = scalar_like(s.input_length, static_cast<double>(t));
    at = select(broadcast(compare(s.input_length, step, CompareKind::kGt), shape, {0}), next, at);
  }
  return at;
}

}  // namespace

Tensor ctc(Tensor y_true, Tensor y_pred, const CtcOptions& o) {
  const Sequences s = checked(y_true, y_pred, o);
  const Tensor at = last_states(s);
  // The last label or the blank behind it.
  const Tensor state = iota(*at.graph(), DType::kI32, at.shape(), 1);
  const Tensor end = broadcast(s.label_length * scalar_like(s.label_length, 2), at.shape(), {0});
  const Tensor ends =
      maximum(compare(state, end, CompareKind::kEq), compare(state, end - scalar_like(end, 1), CompareKind::kEq));
  const Tensor ended = select(ends, at, full_like(at, kNever));
  const Tensor most = stop_gradient(reduce_max(ended, {1}, true));
  const Tensor total = log(reduce_sum(exp(ended - most), {1})) + reshape(most, {at.dim(0)});
  return losses::reduced(kCtc, -total, losses::common(o));
}

}  // namespace tenon
