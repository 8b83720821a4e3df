#include "op/rules.h"

namespace tenon {
namespace {

Tensors argmax_decomposition(const Decompose& n) {
  const Tensor x = n.in(0);
  const Ints axes{n.i64("axis")};
  const Tensor best = reduce(x, axes, static_cast<ReduceKind>(n.enumerator("kind")));
  Tensor hit = compare(x, expand_reduced(best, x.shape(), axes), CompareKind::kEq);
  if (is_float(x.dtype())) hit = maximum(hit, compare(x, x, CompareKind::kNe));  // NaN wins
  const Tensor index = iota(n.graph(), DType::kI32, x.shape(), axes[0]);
  return {reduce(select(hit, index, scalar_like(index, INT32_MAX)), axes, ReduceKind::kMin)};
}

}  // namespace

extern const OpDef kArgmax;
constexpr OpDef kArgmax = {"argmax", argmax_decomposition};

Tensor argmax(Tensor x, int64_t axis, ReduceKind kind) {
  const int64_t which = axis_of("argmax", x, axis);
  return emit1("argmax", {x}, {{"axis", which}, {"kind", number_of(kind)}});
}

}  // namespace tenon
