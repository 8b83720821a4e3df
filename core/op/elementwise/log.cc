#include "op/rules.h"

namespace tenon {
namespace {

Tensors log_gradient(const Gradient& n) { return {div(n.g(0), n.in(0))}; }

}  // namespace

extern const OpDef kLog;
constexpr OpDef kLog = {"log", nullptr, log_gradient};

Tensor log(Tensor x) { return emit1("log", {x}); }

}  // namespace tenon
