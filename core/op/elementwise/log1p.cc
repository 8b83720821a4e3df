#include "op/rules.h"

namespace tenon {
namespace {

Tensors log1p_gradient(const Gradient& n) { return {div(n.g(0), add(n.in(0), scalar_like(n.in(0), 1)))}; }

}  // namespace

extern const OpDef kLog1p;
constexpr OpDef kLog1p = {"log1p", nullptr, log1p_gradient};

Tensor log1p(Tensor x) { return emit1("log1p", {x}); }

}  // namespace tenon
