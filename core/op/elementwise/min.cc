#include "op/rules.h"

namespace tenon {
namespace {

Tensors min_gradient(const Gradient& n) { return gradient_to_winner(n, CompareKind::kLt); }

}  // namespace

extern const OpDef kMin;
constexpr OpDef kMin = {"min", nullptr, min_gradient};

Tensor minimum(Tensor a, Tensor b) { return emit1("min", {a, b}); }

}  // namespace tenon
