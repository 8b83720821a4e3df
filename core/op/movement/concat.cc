#include "op/rules.h"

namespace tenon {
namespace concat_op {

void shape_rule(Infer& c) {
  Shape y = c.shape(0);
  const int64_t axis = c.i64("axis");
  c.expect(axis >= 0 && axis < y.rank(), "axis ", axis, " is out of range for ", y.str());
  const int a = static_cast<int>(axis);
  for (int i = 1; i < c.operands(); ++i) {
    c.expect_same_dtype(0, i);
    c.expect_rank(i, y.rank(), y.rank());
    for (int d = 0; d < y.rank(); ++d)
      c.expect(d == a || c.shape(i)[d] == y[d], c.operand(i), " is ", c.in(i).str(), ", expected ", y[d], " in axis ",
               d);
    y.set(a, y[a] + c.shape(i)[a]);
  }
  c.result(c.in(0).dtype, y);
}

Tensors gradient_rule(const Gradient& n) {
  const int axis = static_cast<int>(n.i64("axis"));
  Tensors grads;
  int64_t at = 0;
  for (int i = 0; i < n.operands(); ++i) {
    Ints start(n.g(0).rank(), 0), limit = n.g(0).shape().vec();
    start[axis] = at;
    limit[axis] = at += n.in(i).dim(axis);
    grads.push_back(n.needs(i) ? slice(n.g(0), start, limit, {}) : Tensor());
  }
  return grads;
}

}  // namespace concat_op

extern const OpDef kConcat;
constexpr OpDef kConcat = {"concat", concat_op::shape_rule, nullptr, concat_op::gradient_rule};

Tensor concat(const Tensors& parts, int64_t axis) {
  if (parts.empty()) fail("concat: has no operands");
  return parts.size() == 1 ? parts[0] : emit1("concat", parts, {{"axis", axis_of(parts[0], axis)}});
}

}  // namespace tenon
