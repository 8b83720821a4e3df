#include "op/rules.h"

namespace tenon {
namespace log_op {

Tensors gradient_rule(const Gradient& n) { return {div(n.g(0), n.in(0))}; }

}  // namespace log_op

extern const OpDef kLog;
constexpr OpDef kLog = {"log", nullptr, log_op::gradient_rule};

Tensor log(Tensor x) { return emit1("log", {x}); }

}  // namespace tenon
