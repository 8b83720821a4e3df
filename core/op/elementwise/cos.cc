#include "op/rules.h"

namespace tenon {
namespace {

Tensors cos_gradient(const Gradient& n) { return {neg(mul(n.g(0), sin(n.in(0))))}; }

}  // namespace

extern const OpDef kCos;
constexpr OpDef kCos = {"cos", nullptr, cos_gradient};

Tensor cos(Tensor x) { return emit1("cos", {x}); }

}  // namespace tenon
