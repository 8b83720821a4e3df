#include "op/rules.h"

namespace tenon {
namespace {

Tensors gather_gradient(const Gradient& n) {
  const Tensor zero = full_like(n.in(op::gather::x), 0);
  return {scatter(zero, n.in(op::gather::i), n.g(0), n.i64("axis"), n.i64("batch"), ScatterKind::kAdd), Tensor()};
}

}  // namespace

extern const OpDef kGather;
constexpr OpDef kGather = {"gather", nullptr, gather_gradient};

Tensor gather(Tensor x, Tensor indices, int64_t axis, int64_t batch) {
  return emit1("gather", {x, indices}, {{"axis", axis}, {"batch", batch}});
}

}  // namespace tenon
