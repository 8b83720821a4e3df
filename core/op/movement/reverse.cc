#include "op/rules.h"

namespace tenon {
namespace reverse_op {

Tensors gradient_rule(const Gradient& n) { return {reverse(n.g(0), n.list("axes"))}; }

}  // namespace reverse_op

extern const OpDef kReverse;
constexpr OpDef kReverse = {"reverse", nullptr, reverse_op::gradient_rule};

Tensor reverse(Tensor x, const Ints& axes) { return emit1("reverse", {x}, {{"axes", positive_axes(x, axes)}}); }

}  // namespace tenon
