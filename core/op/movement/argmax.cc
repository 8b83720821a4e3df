#include "op/rules.h"

namespace tenon {
namespace argmax_op {

void shape_rule(Infer& c) {
  const Shape& x = c.shape(0);
  const int64_t axis = c.i64("axis");
  c.expect(axis >= 0 && axis < x.rank(), "axis ", axis, " is out of range for ", c.in(0).str());
  c.expect(c.enumerator("kind") == 2 || c.enumerator("kind") == 3, "attribute 'kind' is ", c.enumerator("kind"),
           ", expected 2 (max) or 3 (min)");
  c.expect(x[static_cast<int>(axis)] <= INT32_MAX, "axis ", axis, " of ", c.in(0).str(), " has no i32 indices");
  std::vector<int64_t> dims = x.vec();
  dims.erase(dims.begin() + axis);
  c.result(DType::kI32, Shape(dims));
}

Tensors decompose_rule(const Decompose& n) {
  const Tensor x = n.in(0);
  const Ints axes{n.i64("axis")};
  const Tensor best = reduce(x, axes, static_cast<ReduceKind>(n.enumerator("kind")));
  Tensor hit = compare(x, expand_reduced(best, x.shape(), axes), CompareKind::kEq);
  if (is_float(x.dtype())) hit = maximum(hit, compare(x, x, CompareKind::kNe));  // NaN wins
  const Tensor index = iota(n.graph(), DType::kI32, x.shape(), axes[0]);
  return {reduce(select(hit, index, scalar_like(index, INT32_MAX)), axes, ReduceKind::kMin)};
}

}  // namespace argmax_op

extern const OpDef kArgmax;
constexpr OpDef kArgmax = {"argmax", argmax_op::shape_rule, argmax_op::decompose_rule};

Tensor argmax(Tensor x, int64_t axis, ReduceKind kind) {
  const int64_t which = axis_of(x, axis);
  return emit1("argmax", {x}, {{"axis", which}, {"kind", number_of(kind)}});
}

}  // namespace tenon
