#include "op/rules.h"

namespace tenon {
namespace {

Tensors expm1_gradient(const Gradient& n) { return {mul(n.g(0), add(n.out(0), scalar_like(n.out(0), 1)))}; }

}  // namespace

extern const OpDef kExpm1;
constexpr OpDef kExpm1 = {"expm1", nullptr, expm1_gradient};

Tensor expm1(Tensor x) { return emit1("expm1", {x}); }

}  // namespace tenon
