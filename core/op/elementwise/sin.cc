#include "op/rules.h"

namespace tenon {
namespace sin_op {

Tensors gradient_rule(const Gradient& n) { return {mul(n.g(0), cos(n.in(0)))}; }

}  // namespace sin_op

extern const OpDef kSin;
constexpr OpDef kSin = {"sin", nullptr, sin_op::gradient_rule};

Tensor sin(Tensor x) { return emit1("sin", {x}); }

}  // namespace tenon
