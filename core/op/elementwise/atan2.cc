#include "op/rules.h"

namespace tenon {
namespace {

Tensors atan2_gradient(const Gradient& n) {
  const Tensor g = n.g(0), a = n.in(0), b = n.in(1);
  const Tensor scaled = div(g, add(mul(a, a), mul(b, b)));
  return {n.needs(0) ? unbroadcast(mul(scaled, b), a) : Tensor(),
          n.needs(1) ? unbroadcast(neg(mul(scaled, a)), b) : Tensor()};
}

}  // namespace

extern const OpDef kAtan2;
constexpr OpDef kAtan2 = {"atan2", nullptr, atan2_gradient};

Tensor atan2(Tensor a, Tensor b) { return emit1("atan2", {a, b}); }

}  // namespace tenon
