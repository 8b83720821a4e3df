#include "op/rules.h"

namespace tenon {
namespace {

// The fold of x along its axis, repeated to x's shape.
Tensor folded(const AttrReader& a, Tensor x, ReduceKind kind) {
  const Ints axes{a.i64("axis")};
  return expand_reduced(reduce(x, axes, kind), x.shape(), axes);
}

Tensors softmax_decomposition(const Decompose& n) {
  const Tensor x = widened(n.in(0));
  const Tensor e = exp(x - folded(n, x, ReduceKind::kMax));
  return {cast(e / folded(n, e, ReduceKind::kSum), n.in(0).dtype())};
}

Tensors softmax_gradient(const Gradient& n) { return {softmax_grad(n.g(0), n.out(0), n.i64("axis"))}; }

Tensors softmax_grad_decomposition(const Decompose& n) {
  using Op = op::softmax_grad;
  const Tensor dy = widened(n.in(Op::dy)), y = widened(n.in(Op::y));
  return {cast(y * (dy - folded(n, dy * y, ReduceKind::kSum)), n.in(Op::dy).dtype())};
}

Tensors log_softmax_decomposition(const Decompose& n) {
  const Tensor x = widened(n.in(0));
  const Tensor shifted = x - folded(n, x, ReduceKind::kMax);
  return {cast(shifted - log(folded(n, exp(shifted), ReduceKind::kSum)), n.in(0).dtype())};
}

Tensors log_softmax_gradient(const Gradient& n) { return {log_softmax_grad(n.g(0), n.out(0), n.i64("axis"))}; }

Tensors log_softmax_grad_decomposition(const Decompose& n) {
  using Op = op::log_softmax_grad;
  const Tensor dy = widened(n.in(Op::dy)), y = widened(n.in(Op::y));
  return {cast(dy - exp(y) * folded(n, dy, ReduceKind::kSum), n.in(Op::dy).dtype())};
}

// -1 is the last axis.
Attrs axis_attribute(std::string_view op, Tensor x, int64_t axis) { return {{"axis", axis_of(op, x, axis)}}; }

}  // namespace

extern const OpDef kSoftmax, kSoftmaxGrad, kLogSoftmax, kLogSoftmaxGrad;

constexpr OpDef kSoftmax = {"softmax", softmax_decomposition, softmax_gradient};

constexpr OpDef kSoftmaxGrad = {"softmax_grad", softmax_grad_decomposition};

constexpr OpDef kLogSoftmax = {"log_softmax", log_softmax_decomposition, log_softmax_gradient};

constexpr OpDef kLogSoftmaxGrad = {"log_softmax_grad", log_softmax_grad_decomposition};

Tensor softmax(Tensor x, int64_t axis) { return emit1("softmax", {x}, axis_attribute("softmax", x, axis)); }
Tensor log_softmax(Tensor x, int64_t axis) { return emit1("log_softmax", {x}, axis_attribute("log_softmax", x, axis)); }
Tensor softmax_grad(Tensor dy, Tensor y, int64_t axis) {
  return emit1("softmax_grad", {dy, y}, axis_attribute("softmax_grad", y, axis));
}
Tensor log_softmax_grad(Tensor dy, Tensor y, int64_t axis) {
  return emit1("log_softmax_grad", {dy, y}, axis_attribute("log_softmax_grad", y, axis));
}

}  // namespace tenon
