#include "op/rules.h"

namespace tenon {
namespace {

Tensors sin_gradient(const Gradient& n) { return {mul(n.g(0), cos(n.in(0)))}; }

}  // namespace

extern const OpDef kSin;
constexpr OpDef kSin = {"sin", nullptr, sin_gradient};

Tensor sin(Tensor x) { return emit1("sin", {x}); }

}  // namespace tenon
