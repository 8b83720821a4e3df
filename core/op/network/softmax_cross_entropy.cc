#include <cstring>
#include <limits>

#include "op/rules.h"

namespace tenon {
namespace {

Tensor sum_row(Tensor x) { return reduce(x, {x.rank() - 1}, ReduceKind::kSum); }
Tensor along_row(Tensor row, Tensor x) { return expand_reduced(row, x.shape(), {x.rank() - 1}); }

Tensor log_sum_exp(Tensor x) {
  const Tensor max = reduce(x, {x.rank() - 1}, ReduceKind::kMax);
  return max + log(sum_row(exp(x - along_row(max, x))));
}

// n exactly, which a double may not hold.
Tensor integer_like(Tensor like, int64_t n) {
  const int32_t narrow = static_cast<int32_t>(n);
  std::string bytes(static_cast<size_t>(dtype_bytes(like.dtype())), '\0');
  std::memcpy(bytes.data(), like.dtype() == DType::kI64 ? static_cast<const void*>(&n) : &narrow, bytes.size());
  return constant(*like.graph(), {like.dtype(), {}}, bytes);
}

// Integer labels: `value`, but 0 at the ignored label and NaN outside of [0, V).
Tensor guarded(const AttrReader& a, Tensor label, int64_t classes, Tensor value) {
  const auto is = [&](CompareKind kind, int64_t n) { return compare(label, integer_like(label, n), kind); };
  const Tensor inside = minimum(is(CompareKind::kGe, 0), is(CompareKind::kLt, classes));
  value = select(inside, value, scalar_like(value, std::numeric_limits<double>::quiet_NaN()));
  const int64_t ignore = a.i64("ignore");
  const bool possible = label.dtype() == DType::kI64 || (ignore >= INT32_MIN && ignore <= INT32_MAX);
  return possible ? select(is(CompareKind::kEq, ignore), scalar_like(value, 0), value) : value;
}

// sum(t) lse - sum(t x) of integer labels, as a sum of terms lse - x: they are of the size of the loss.
Tensor sparse_loss(const Decompose& n, Tensor x, Tensor label, Tensor lse) {
  const double on = n.f64("on"), off = n.f64("off");
  const int axis = x.rank() - 1;
  std::vector<int64_t> column = label.shape().vec();
  column.push_back(1);
  const Tensor at_label = reshape(gather(x, reshape(label, Shape(column)), axis, axis), label.shape());
  Tensor loss = (on - off) * (lse - at_label);
  if (off != 0) loss = loss + off * sum_row(along_row(lse, x) - x);
  return guarded(n, label, x.dim(-1), loss);
}

Tensors softmax_cross_entropy_decomposition(const Decompose& n) {
  const Tensor x = widened(n.in(op::softmax_cross_entropy::x)), label = n.in(op::softmax_cross_entropy::label),
               lse = log_sum_exp(x);
  if (!is_float(label.dtype())) return {sparse_loss(n, x, label, lse), lse};
  const Tensor t = widened(label);
  return {sum_row(t) * lse - sum_row(t * x), lse};
}

Tensors softmax_cross_entropy_gradient(const Gradient& n) {
  using Op = op::softmax_cross_entropy;
  const Tensor x = n.in(Op::x), label = n.in(Op::label), lse = n.out(Op::out::lse);
  const CrossEntropyOptions o{n.f64("on"), n.f64("off"), n.i64("ignore")};
  Tensor dx, dlabel;
  if (n.g(Op::out::loss) && n.needs(Op::x)) dx = softmax_cross_entropy_grad(n.g(Op::out::loss), x, label, lse, o);
  if (n.g(Op::out::loss) && n.needs(Op::label)) {
    const Tensor wide = widened(x);
    dlabel = cast(along_row(n.g(Op::out::loss), wide) * (along_row(lse, wide) - wide), label.dtype());
  }
  if (n.g(1) && n.needs(0)) {
    const Tensor wide = widened(x);
    const Tensor more = cast(along_row(n.g(1), wide) * exp(wide - along_row(lse, wide)), x.dtype());
    dx = dx ? add(dx, more) : more;
  }
  return {dx, dlabel};
}

}  // namespace

extern const OpDef kSoftmaxCrossEntropy;
constexpr OpDef kSoftmaxCrossEntropy = {"softmax_cross_entropy", softmax_cross_entropy_decomposition,
                                        softmax_cross_entropy_gradient};

namespace {

Attrs attributes(const CrossEntropyOptions& o) { return {{"on", o.on}, {"off", o.off}, {"ignore", o.ignore}}; }

// t of integer labels: on at the label, off elsewhere.
Tensor dense_label(const AttrReader& a, Tensor label, Tensor x) {
  const Tensor classes = iota(*x.graph(), label.dtype(), x.shape(), x.rank() - 1);
  const Tensor hit = compare(along_row(label, x), classes, CompareKind::kEq);
  return select(hit, scalar_like(x, a.f64("on")), scalar_like(x, a.f64("off")));
}

Tensors softmax_cross_entropy_grad_decomposition(const Decompose& n) {
  using Op = op::softmax_cross_entropy_grad;
  const Tensor dloss = n.in(Op::dloss), x = widened(n.in(Op::x)), label = n.in(Op::label), lse = n.in(Op::lse);
  const Tensor p = exp(x - along_row(lse, x));
  Tensor dx;
  if (is_float(label.dtype())) {
    const Tensor t = widened(label);
    dx = along_row(dloss, x) * (along_row(sum_row(t), x) * p - t);
  } else {
    const double total = n.f64("on") + static_cast<double>(x.dim(-1) - 1) * n.f64("off");
    dx = along_row(dloss, x) * (total * p - dense_label(n, label, x));
    dx = guarded(n, along_row(label, x), x.dim(-1), dx);
  }
  return {cast(dx, n.in(1).dtype())};
}

}  // namespace

extern const OpDef kSoftmaxCrossEntropyGrad;
constexpr OpDef kSoftmaxCrossEntropyGrad = {"softmax_cross_entropy_grad", softmax_cross_entropy_grad_decomposition};

CrossEntropy softmax_cross_entropy_per_example(Tensor x, Tensor label, const CrossEntropyOptions& o) {
  const Tensors r = emit_all("softmax_cross_entropy", {x, label}, attributes(o));
  return {r[0], r[1]};
}

Tensor softmax_cross_entropy_grad(Tensor dloss, Tensor x, Tensor label, Tensor lse, const CrossEntropyOptions& o) {
  return emit1("softmax_cross_entropy_grad", {dloss, x, label, lse}, attributes(o));
}

}  // namespace tenon
