#include "op/rules.h"

namespace tenon {
namespace {

Tensors exp_gradient(const Gradient& n) { return {mul(n.g(0), n.out(0))}; }

}  // namespace

extern const OpDef kExp;
constexpr OpDef kExp = {"exp", nullptr, exp_gradient};

Tensor exp(Tensor x) { return emit1("exp", {x}); }

}  // namespace tenon
