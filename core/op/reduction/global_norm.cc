#include "op/rules.h"

namespace tenon {
namespace {

DType result_dtype(const Tensors& xs) {
  for (const Tensor& x : xs)
    if (x.dtype() == DType::kF64) return DType::kF64;
  return DType::kF32;
}

Tensors global_norm_decomposition(const Decompose& n) {
  const DType dtype = result_dtype(n.inputs());
  Tensor sum;
  for (const Tensor& x : n.inputs()) {
    const Tensor squares = reduce_sum(square(cast(x, dtype)));
    sum = sum ? sum + squares : squares;
  }
  return {sqrt(sum)};
}

// g x / y, 0 where all of x is.
Tensors global_norm_gradient(const Gradient& n) {
  const Tensor y = n.out(0), zero = scalar_like(y, 0);
  const Tensor rate = select(compare(y, zero, CompareKind::kEq), zero, n.g(0) / y);
  Tensors grads;
  for (int i = 0; i < n.operands(); ++i)
    grads.push_back(n.needs(i) ? cast(rate * cast(n.in(i), y.dtype()), n.in(i).dtype()) : Tensor());
  return grads;
}

}  // namespace

extern const OpDef kGlobalNorm;
constexpr OpDef kGlobalNorm = {"global_norm", global_norm_decomposition, global_norm_gradient};

Tensor global_norm(const Tensors& xs) { return emit1("global_norm", xs); }

}  // namespace tenon
