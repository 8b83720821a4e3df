#include "op/rules.h"

namespace tenon {
namespace {

Tensors bias_act_grad_decomposition(const Decompose& n) {
  using Op = op::bias_act_grad;
  const DType dtype = n.in(Op::g).dtype();
  const Tensor dz = activation_grad(widened(n.in(Op::g)), widened(n.in(Op::t)), activation_of(n), n.f64("alpha"));
  return {cast(dz, dtype), cast(reduce(dz, leading_axes(dz.rank()), ReduceKind::kSum), dtype)};
}

}  // namespace

extern const OpDef kBiasActGrad;
constexpr OpDef kBiasActGrad = {"bias_act_grad", bias_act_grad_decomposition};

BiasActGrad bias_act_grad(Tensor g, Tensor t, Activation act, double alpha) {
  const Tensors r = emit_all("bias_act_grad", {g, t}, {{"act", number_of(act)}, {"alpha", alpha}});
  return {r[0], r[1]};
}

}  // namespace tenon
