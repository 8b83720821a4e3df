#include "op/rules.h"

namespace tenon {
namespace softmax_op {

// The fold of x along its axis, repeated to x's shape.
Tensor folded(const AttrReader& a, Tensor x, ReduceKind kind) {
  const Ints axes{a.i64("axis")};
  return expand_reduced(reduce(x, axes, kind), x.shape(), axes);
}

Tensors decompose_rule(const Decompose& n) {
  const Tensor x = widened(n.in(0));
  const Tensor e = exp(x - folded(n, x, ReduceKind::kMax));
  return {cast(e / folded(n, e, ReduceKind::kSum), n.in(0).dtype())};
}

Tensors gradient_rule(const Gradient& n) { return {softmax_grad(n.g(0), n.out(0), n.i64("axis"))}; }

Tensors grad_decompose_rule(const Decompose& n) {
  const Tensor dy = widened(n.in(0)), y = widened(n.in(1));
  return {cast(y * (dy - folded(n, dy * y, ReduceKind::kSum)), n.in(0).dtype())};
}

Tensors log_decompose_rule(const Decompose& n) {
  const Tensor x = widened(n.in(0));
  const Tensor shifted = x - folded(n, x, ReduceKind::kMax);
  return {cast(shifted - log(folded(n, exp(shifted), ReduceKind::kSum)), n.in(0).dtype())};
}

Tensors log_gradient_rule(const Gradient& n) { return {log_softmax_grad(n.g(0), n.out(0), n.i64("axis"))}; }

Tensors log_grad_decompose_rule(const Decompose& n) {
  const Tensor dy = widened(n.in(0)), y = widened(n.in(1));
  return {cast(dy - exp(y) * folded(n, dy, ReduceKind::kSum), n.in(0).dtype())};
}

// -1 is the last axis.
Attrs axis_attribute(Tensor x, int64_t axis) { return {{"axis", axis_of(x, axis)}}; }

}  // namespace softmax_op

extern const OpDef kSoftmax, kSoftmaxGrad, kLogSoftmax, kLogSoftmaxGrad;

constexpr OpDef kSoftmax = {"softmax", softmax_op::decompose_rule, softmax_op::gradient_rule};

constexpr OpDef kSoftmaxGrad = {"softmax_grad", softmax_op::grad_decompose_rule};

constexpr OpDef kLogSoftmax = {"log_softmax", softmax_op::log_decompose_rule, softmax_op::log_gradient_rule};

constexpr OpDef kLogSoftmaxGrad = {"log_softmax_grad", softmax_op::log_grad_decompose_rule};

Tensor softmax(Tensor x, int64_t axis) { return emit1("softmax", {x}, softmax_op::axis_attribute(x, axis)); }
Tensor log_softmax(Tensor x, int64_t axis) { return emit1("log_softmax", {x}, softmax_op::axis_attribute(x, axis)); }
Tensor softmax_grad(Tensor dy, Tensor y, int64_t axis) {
  return emit1("softmax_grad", {dy, y}, softmax_op::axis_attribute(y, axis));
}
Tensor log_softmax_grad(Tensor dy, Tensor y, int64_t axis) {
  return emit1("log_softmax_grad", {dy, y}, softmax_op::axis_attribute(y, axis));
}

}  // namespace tenon
