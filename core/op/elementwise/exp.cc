#include "op/rules.h"

namespace tenon {
namespace exp_op {

Tensors gradient_rule(const Gradient& n) { return {mul(n.g(0), n.out(0))}; }

}  // namespace exp_op

extern const OpDef kExp;
constexpr OpDef kExp = {"exp", nullptr, exp_op::gradient_rule};

Tensor exp(Tensor x) { return emit1("exp", {x}); }

}  // namespace tenon
