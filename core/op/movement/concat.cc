#include "op/rules.h"

namespace tenon {
namespace {

Tensors concat_gradient(const Gradient& n) {
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

}  // namespace

extern const OpDef kConcat;
constexpr OpDef kConcat = {"concat", nullptr, concat_gradient};

Tensor concat(const Tensors& parts, int64_t axis) {
  if (parts.empty()) fail("concat: has no operands");
  if (parts.size() == 1) return parts[0];
  return emit1("concat", parts, {{"axis", axis_of("concat", parts[0], axis)}});
}

}  // namespace tenon
