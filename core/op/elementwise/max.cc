#include "op/rules.h"

namespace tenon {
namespace max_op {

Tensors gradient_rule(const Gradient& n) { return gradient_to_winner(n, CompareKind::kGt); }

}  // namespace max_op

extern const OpDef kMax;
constexpr OpDef kMax = {"max", nullptr, max_op::gradient_rule};

Tensor maximum(Tensor a, Tensor b) { return emit1("max", {a, b}); }

}  // namespace tenon
