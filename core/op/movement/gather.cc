#include "op/rules.h"

namespace tenon {
namespace gather_op {

Tensors gradient_rule(const Gradient& n) {
  const Tensor zero = full_like(n.in(0), 0);
  return {scatter(zero, n.in(1), n.g(0), n.i64("axis"), n.i64("batch"), ScatterKind::kAdd), Tensor()};
}

}  // namespace gather_op

extern const OpDef kGather;
constexpr OpDef kGather = {"gather", nullptr, gather_op::gradient_rule};

Tensor gather(Tensor x, Tensor indices, int64_t axis, int64_t batch) {
  return emit1("gather", {x, indices}, {{"axis", axis}, {"batch", batch}});
}

}  // namespace tenon
