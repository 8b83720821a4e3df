#include "op/rules.h"

namespace tenon {
namespace bias_act_grad_op {

Tensors decompose_rule(const Decompose& n) {
  const DType dtype = n.in(0).dtype();
  const Tensor dz = activation_grad(widened(n.in(0)), widened(n.in(1)), activation_of(n), n.f64("alpha"));
  return {cast(dz, dtype), cast(reduce(dz, leading_axes(dz.rank()), ReduceKind::kSum), dtype)};
}

}  // namespace bias_act_grad_op

extern const OpDef kBiasActGrad;
constexpr OpDef kBiasActGrad = {"bias_act_grad", bias_act_grad_op::decompose_rule};

BiasActGrad bias_act_grad(Tensor g, Tensor t, Activation act, double alpha) {
  const Tensors r = emit_all("bias_act_grad", {g, t}, {{"act", number_of(act)}, {"alpha", alpha}});
  return {r[0], r[1]};
}

}  // namespace tenon
