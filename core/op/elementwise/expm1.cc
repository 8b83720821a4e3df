#include "op/rules.h"

namespace tenon {
namespace expm1_op {

Tensors gradient_rule(const Gradient& n) { return {mul(n.g(0), add(n.out(0), scalar_like(n.out(0), 1)))}; }

}  // namespace expm1_op

extern const OpDef kExpm1;
constexpr OpDef kExpm1 = {"expm1", nullptr, expm1_op::gradient_rule};

Tensor expm1(Tensor x) { return emit1("expm1", {x}); }

}  // namespace tenon
