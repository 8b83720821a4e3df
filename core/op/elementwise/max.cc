#include "op/rules.h"

namespace tenon {
namespace {

Tensors max_gradient(const Gradient& n) { return gradient_to_winner(n, CompareKind::kGt); }

}  // namespace

extern const OpDef kMax;
constexpr OpDef kMax = {"max", nullptr, max_gradient};

Tensor maximum(Tensor a, Tensor b) { return emit1("max", {a, b}); }

}  // namespace tenon
