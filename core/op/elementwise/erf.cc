#include "op/rules.h"

namespace tenon {
namespace erf_op {

Tensors gradient_rule(const Gradient& n) {
  const Tensor x = n.in(0);
  constexpr double kTwoOverRootPi = 1.1283791670955125739;
  return {mul(n.g(0), mul(scalar_like(x, kTwoOverRootPi), exp(neg(mul(x, x)))))};
}

}  // namespace erf_op

extern const OpDef kErf;
constexpr OpDef kErf = {"erf", nullptr, erf_op::gradient_rule};

Tensor erf(Tensor x) { return emit1("erf", {x}); }

}  // namespace tenon
