#include "op/rules.h"

namespace tenon {
namespace all_gather_op {

void shape_rule(Infer& c) {
  const int64_t axis = c.i64("axis"), replicas = c.i64("replicas");
  c.expect(axis >= 0 && axis < c.shape(0).rank(), "axis ", axis, " is out of range for ", c.in(0).str());
  c.expect(replicas >= 1 && replicas <= 65536, "replicas is ", replicas, ", expected 1 to 65536");
  Shape y = c.shape(0);
  int64_t whole = 0;
  c.expect(!__builtin_mul_overflow(y[static_cast<int>(axis)], replicas, &whole) && whole < (int64_t{1} << 60), "axis ",
           axis, " is too long");
  y.set(static_cast<int>(axis), whole);
  c.result(c.in(0).dtype, y);
}

Tensors gradient_rule(const Gradient& n) {
  const int64_t axis = n.i64("axis"), group = n.i64("group"), replicas = n.i64("replicas");
  return {emit1("reduce_scatter", {n.g(0)}, {{"axis", axis}, {"group", group}, {"replicas", replicas}})};
}

}  // namespace all_gather_op

extern const OpDef kAllGather;
constexpr OpDef kAllGather = {"all_gather", all_gather_op::shape_rule, nullptr, all_gather_op::gradient_rule};

Tensor all_gather(Tensor x, int64_t axis, int64_t group) {
  return emit1("all_gather", {x}, {{"axis", axis}, {"group", group}});
}

}  // namespace tenon
