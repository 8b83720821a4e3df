#include "op/rules.h"

namespace tenon {
namespace {

Tensors erf_gradient(const Gradient& n) {
  const Tensor x = n.in(0);
  constexpr double kTwoOverRootPi = 1.1283791670955125739;
  return {mul(n.g(0), mul(scalar_like(x, kTwoOverRootPi), exp(neg(mul(x, x)))))};
}

}  // namespace

extern const OpDef kErf;
constexpr OpDef kErf = {"erf", nullptr, erf_gradient};

Tensor erf(Tensor x) { return emit1("erf", {x}); }

}  // namespace tenon
