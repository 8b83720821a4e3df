#include "op/rules.h"

namespace tenon {
namespace {

Tensors reverse_gradient(const Gradient& n) { return {reverse(n.g(0), n.list("axes"))}; }

}  // namespace

extern const OpDef kReverse;
constexpr OpDef kReverse = {"reverse", nullptr, reverse_gradient};

Tensor reverse(Tensor x, const Ints& axes) {
  return emit1("reverse", {x}, {{"axes", positive_axes("reverse", x, axes)}});
}

}  // namespace tenon
