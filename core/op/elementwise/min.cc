#include "op/rules.h"

namespace tenon {
namespace min_op {

Tensors gradient_rule(const Gradient& n) { return gradient_to_winner(n, CompareKind::kLt); }

}  // namespace min_op

extern const OpDef kMin;
constexpr OpDef kMin = {"min", nullptr, min_op::gradient_rule};

Tensor minimum(Tensor a, Tensor b) { return emit1("min", {a, b}); }

}  // namespace tenon
