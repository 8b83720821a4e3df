#include "op/rules.h"

namespace tenon {
namespace gather_op {

void shape_rule(Infer& c) { c.result(c.in(0).dtype, gather_shape(c)); }

Tensors gradient_rule(const Gradient& n) {
  const Tensor zero = full_like(n.in(0), 0);
  return {scatter(zero, n.in(1), n.g(0), n.i64("axis"), n.i64("batch"), ScatterKind::kAdd), Tensor()};
}

}  // namespace gather_op

extern const OpDef kGather;
const OpDef kGather = {
    "gather",
    "x:A i:I ; axis:i64 batch:i64=0 -> y",
    "Takes entries along one axis: y[b,p,j,s] = x[b,p,i[b,j],s], where b are the first `batch` axes, p "
    "those up to `axis`, s those after. An index outside [0, n) reads 0.",
    gather_op::shape_rule,
    nullptr,
    gather_op::gradient_rule,
};

Tensor gather(Tensor x, Tensor indices, int64_t axis, int64_t batch) {
  return emit1("gather", {x, indices}, {{"axis", axis}, {"batch", batch}});
}

}  // namespace tenon
