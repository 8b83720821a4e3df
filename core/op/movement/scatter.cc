#include "op/rules.h"

namespace tenon {
namespace {

Tensors scatter_gradient(const Gradient& n) {
  using Op = op::scatter;
  const Tensor g = n.g(0), i = n.in(Op::i), u = n.in(Op::u);
  const int64_t axis = n.i64("axis"), batch = n.i64("batch");
  const Tensor du = n.needs(Op::u) ? gather(g, i, axis, batch) : Tensor();
  if (n.enumerator("kind") == static_cast<int>(ScatterKind::kAdd)) return {g, Tensor(), du};
  return {scatter(g, i, full_like(u, 0), axis, batch, ScatterKind::kSet), Tensor(), du};
}

}  // namespace

extern const OpDef kScatter;
constexpr OpDef kScatter = {"scatter", nullptr, scatter_gradient};

Tensor scatter(Tensor x, Tensor indices, Tensor updates, int64_t axis, int64_t batch, ScatterKind kind) {
  return emit1("scatter", {x, indices, updates}, {{"axis", axis}, {"batch", batch}, {"kind", number_of(kind)}});
}

}  // namespace tenon
