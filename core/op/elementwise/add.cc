#include "op/rules.h"

namespace tenon {
namespace add_op {

Tensors gradient_rule(const Gradient& n) { return {unbroadcast(n.g(0), n.in(0)), unbroadcast(n.g(0), n.in(1))}; }

}  // namespace add_op

extern const OpDef kAdd;
constexpr OpDef kAdd = {"add", nullptr, add_op::gradient_rule};

Tensor add(Tensor a, Tensor b) { return emit1("add", {a, b}); }

}  // namespace tenon
