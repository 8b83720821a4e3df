#include "op/rules.h"

namespace tenon {
namespace sort_op {

Tensors gradient_rule(const Gradient& n) {
  if (!n.g(0)) return {Tensor()};
  const Tensor x = n.in(0);
  const int axis = x.rank() - 1;
  return {scatter(full_like(x, 0), n.out(1), n.g(0), axis, axis, ScatterKind::kAdd)};
}

}  // namespace sort_op

extern const OpDef kSort;
constexpr OpDef kSort = {"sort", nullptr, sort_op::gradient_rule};

Sorted sort(Tensor x, int64_t k, bool descending) {
  const Tensors r = emit_all("sort", {x}, {{"k", k}, {"descending", descending}});
  return {r[0], r[1]};
}

}  // namespace tenon
