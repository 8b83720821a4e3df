#include "op/rules.h"

namespace tenon {
namespace {

Tensors sort_gradient(const Gradient& n) {
  using Op = op::sort;
  if (!n.g(Op::out::values)) return {Tensor()};
  const Tensor x = n.in(0);
  const int axis = x.rank() - 1;
  return {scatter(full_like(x, 0), n.out(Op::out::indices), n.g(Op::out::values), axis, axis, ScatterKind::kAdd)};
}

}  // namespace

extern const OpDef kSort;
constexpr OpDef kSort = {"sort", nullptr, sort_gradient};

Sorted sort(Tensor x, int64_t k, bool descending) {
  const Tensors r = emit_all("sort", {x}, {{"k", k}, {"descending", descending}});
  return {r[0], r[1]};
}

}  // namespace tenon
