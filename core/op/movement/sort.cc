#include "op/rules.h"

namespace tenon {
namespace sort_op {

void shape_rule(Infer& c) {
  c.expect_rank(0, 1, kMaxRank);
  Shape y = c.shape(0);
  c.expect(c.i64("k") >= 1 && c.i64("k") <= y[-1], "k is ", c.i64("k"), ", expected 1 to ", y[-1]);
  y.set(-1, c.i64("k"));
  c.result(c.in(0).dtype, y);
  c.result(DType::kI32, y);
}

Tensors gradient_rule(const Gradient& n) {
  if (!n.g(0)) return {Tensor()};
  const Tensor x = n.in(0);
  const int axis = x.rank() - 1;
  return {scatter(full_like(x, 0), n.out(1), n.g(0), axis, axis, ScatterKind::kAdd)};
}

}  // namespace sort_op

extern const OpDef kSort;
constexpr OpDef kSort = {"sort", sort_op::shape_rule, nullptr, sort_op::gradient_rule};

Sorted sort(Tensor x, int64_t k, bool descending) {
  const Tensors r = emit_all("sort", {x}, {{"k", k}, {"descending", descending}});
  return {r[0], r[1]};
}

}  // namespace tenon
