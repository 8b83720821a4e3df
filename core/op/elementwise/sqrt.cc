#include "op/rules.h"

namespace tenon {
namespace sqrt_op {

Tensors gradient_rule(const Gradient& n) { return {div(n.g(0), mul(n.out(0), scalar_like(n.out(0), 2)))}; }

}  // namespace sqrt_op

extern const OpDef kSqrt;
constexpr OpDef kSqrt = {"sqrt", nullptr, sqrt_op::gradient_rule};

Tensor sqrt(Tensor x) { return emit1("sqrt", {x}); }

}  // namespace tenon
