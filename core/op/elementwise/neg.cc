#include "op/rules.h"

namespace tenon {
namespace neg_op {

Tensors gradient_rule(const Gradient& n) { return {neg(n.g(0))}; }

}  // namespace neg_op

extern const OpDef kNeg;
constexpr OpDef kNeg = {"neg", nullptr, neg_op::gradient_rule};

Tensor neg(Tensor x) { return emit1("neg", {x}); }

}  // namespace tenon
