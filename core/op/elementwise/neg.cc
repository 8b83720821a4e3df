#include "op/rules.h"

namespace tenon {
namespace {

Tensors neg_gradient(const Gradient& n) { return {neg(n.g(0))}; }

}  // namespace

extern const OpDef kNeg;
constexpr OpDef kNeg = {"neg", nullptr, neg_gradient};

Tensor neg(Tensor x) { return emit1("neg", {x}); }

}  // namespace tenon
