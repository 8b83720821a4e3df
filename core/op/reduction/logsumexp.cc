#include <cmath>

#include "op/rules.h"

namespace tenon {
namespace {

Tensor log_of_sums(Tensor x, const Ints& axes) { return emit1("logsumexp", {x}, {{"axes", axes}}); }

// max + log of the sum of exp(x - max), where the largest is finite: else nothing is taken out, as inf - inf is NaN.
Tensors logsumexp_decomposition(const Decompose& n) {
  const Tensor x = widened(n.in(0));
  const Ints& axes = n.list("axes");
  const Tensor max = reduce(x, axes, ReduceKind::kMax), zero = scalar_like(max, 0);
  const Tensor shift = select(compare(abs(max), scalar_like(max, INFINITY), CompareKind::kLt), max, zero);
  const Tensor sum = reduce(exp(x - expand_reduced(shift, x.shape(), axes)), axes, ReduceKind::kSum);
  return {cast(log(sum) + shift, n.in(0).dtype())};
}

// g exp(x - y). A y that is rounded to fewer digits than exp needs is computed again; -inf is of -inf alone.
Tensors logsumexp_gradient(const Gradient& n) {
  const Tensor x = widened(n.in(0)), g = widened(n.g(0));
  const Ints& axes = n.list("axes");
  const Tensor y = n.out(0).dtype() == x.dtype() ? n.out(0) : log_of_sums(x, axes);
  const Tensor none = compare(y, scalar_like(y, -INFINITY), CompareKind::kEq);
  const Tensor shift = select(none, scalar_like(y, 0), y);
  const Tensor share = exp(x - expand_reduced(shift, x.shape(), axes));
  return {cast(expand_reduced(g, x.shape(), axes) * share, n.in(0).dtype())};
}

}  // namespace

extern const OpDef kLogsumexp;
constexpr OpDef kLogsumexp = {"logsumexp", logsumexp_decomposition, logsumexp_gradient};

Tensor logsumexp(Tensor x, const Ints& axes, bool keepdims) {
  const Ints which = axes.empty() ? other_axes({}, x.rank()) : positive_axes("logsumexp", x, axes);
  const Tensor y = log_of_sums(x, which);
  if (!keepdims) return y;
  Shape kept = x.shape();
  for (int64_t a : which) kept.set(static_cast<int>(a), 1);
  return reshape(y, kept);
}

}  // namespace tenon
