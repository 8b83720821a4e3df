#include "op/rules.h"

namespace tenon {
namespace min_op {

void shape_rule(Infer& c) { infer_binary(c); }

Tensors gradient_rule(const Gradient& n) { return gradient_to_winner(n, CompareKind::kLt); }

}  // namespace min_op

extern const OpDef kMin;
constexpr OpDef kMin = {"min", min_op::shape_rule, nullptr, min_op::gradient_rule};

Tensor minimum(Tensor a, Tensor b) { return emit1("min", {a, b}); }

}  // namespace tenon
