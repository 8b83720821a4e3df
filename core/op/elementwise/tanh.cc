#include "op/rules.h"

namespace tenon {
namespace tanh_op {

Tensors gradient_rule(const Gradient& n) {
  const Tensor y = n.out(0);
  return {mul(n.g(0), sub(scalar_like(y, 1), mul(y, y)))};
}

}  // namespace tanh_op

extern const OpDef kTanh;
constexpr OpDef kTanh = {"tanh", nullptr, tanh_op::gradient_rule};

Tensor tanh(Tensor x) { return emit1("tanh", {x}); }

}  // namespace tenon
