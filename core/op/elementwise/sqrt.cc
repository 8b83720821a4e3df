#include "op/rules.h"

namespace tenon {
namespace {

Tensors sqrt_gradient(const Gradient& n) { return {div(n.g(0), mul(n.out(0), scalar_like(n.out(0), 2)))}; }

}  // namespace

extern const OpDef kSqrt;
constexpr OpDef kSqrt = {"sqrt", nullptr, sqrt_gradient};

Tensor sqrt(Tensor x) { return emit1("sqrt", {x}); }

}  // namespace tenon
