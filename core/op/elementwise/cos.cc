#include "op/rules.h"

namespace tenon {
namespace cos_op {

Tensors gradient_rule(const Gradient& n) { return {neg(mul(n.g(0), sin(n.in(0))))}; }

}  // namespace cos_op

extern const OpDef kCos;
constexpr OpDef kCos = {"cos", nullptr, cos_op::gradient_rule};

Tensor cos(Tensor x) { return emit1("cos", {x}); }

}  // namespace tenon
