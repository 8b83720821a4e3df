#include "op/rules.h"

namespace tenon {
namespace scatter_op {

Tensors gradient_rule(const Gradient& n) {
  const Tensor g = n.g(0), i = n.in(1), u = n.in(2);
  const int64_t axis = n.i64("axis"), batch = n.i64("batch");
  const Tensor du = n.needs(2) ? gather(g, i, axis, batch) : Tensor();
  if (n.enumerator("kind") == static_cast<int>(ScatterKind::kAdd)) return {g, Tensor(), du};
  return {scatter(g, i, full_like(u, 0), axis, batch, ScatterKind::kSet), Tensor(), du};
}

}  // namespace scatter_op

extern const OpDef kScatter;
constexpr OpDef kScatter = {"scatter", nullptr, scatter_op::gradient_rule};

Tensor scatter(Tensor x, Tensor indices, Tensor updates, int64_t axis, int64_t batch, ScatterKind kind) {
  return emit1("scatter", {x, indices, updates}, {{"axis", axis}, {"batch", batch}, {"kind", number_of(kind)}});
}

}  // namespace tenon
