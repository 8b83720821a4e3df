#include "op/rules.h"

namespace tenon {
namespace {

Tensors abs_gradient(const Gradient& n) {
  const Tensor x = n.in(0), zero = scalar_like(x, 0);
  const Tensor below = select(compare(x, zero, CompareKind::kLt), neg(n.g(0)), zero);
  return {select(compare(x, zero, CompareKind::kGt), n.g(0), below)};
}

}  // namespace

extern const OpDef kAbs;
constexpr OpDef kAbs = {"abs", nullptr, abs_gradient};

Tensor abs(Tensor x) { return emit1("abs", {x}); }

}  // namespace tenon
