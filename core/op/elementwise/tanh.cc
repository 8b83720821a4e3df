#include "op/rules.h"

namespace tenon {
namespace {

Tensors tanh_gradient(const Gradient& n) {
  const Tensor y = n.out(0);
  return {mul(n.g(0), sub(scalar_like(y, 1), mul(y, y)))};
}

}  // namespace

extern const OpDef kTanh;
constexpr OpDef kTanh = {"tanh", nullptr, tanh_gradient};

Tensor tanh(Tensor x) { return emit1("tanh", {x}); }

}  // namespace tenon
