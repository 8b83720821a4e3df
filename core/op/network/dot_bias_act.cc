#include "op/rules.h"

namespace tenon {
namespace {

Tensors dot_bias_act_decomposition(const Decompose& n) {
  using Op = op::dot_bias_act;
  const DType out = n.dtype("out") == DType::kNone ? n.in(Op::a).dtype() : n.dtype("out");
  const MathPrecision precision = static_cast<MathPrecision>(n.enumerator("precision"));
  const Tensor z = dot(n.in(Op::a), n.in(Op::b), {n.flag("ta"), n.flag("tb"), precision, compute_dtype(out)});
  return {epilogue(z, n.in(Op::bias), n.in(Op::residual), n, out)};
}

// The product again without its activation: compile/activation_apart.cc makes one of both.
Tensor argument_of_activation(const Gradient& n) {
  using Op = op::dot_bias_act;
  return dot_bias_act(
      n.in(Op::a), n.in(Op::b), n.in(Op::bias), n.in(Op::residual), Activation::kNone, 0,
      {n.flag("ta"), n.flag("tb"), static_cast<MathPrecision>(n.enumerator("precision")), n.dtype("out")});
}

Tensors dot_bias_act_gradient(const Gradient& n) {
  const Tensor t = epilogue_place(n, [&] { return argument_of_activation(n); });
  if (!t) return {};
  const BiasActGrad d = epilogue_gradient(n, t, n.needs(op::dot_bias_act::bias));
  const Tensors operands = dot_gradients(n, d.dz);
  return {operands[0], operands[1], d.dbias, d.dz};
}

}  // namespace

extern const OpDef kDotBiasAct;
constexpr OpDef kDotBiasAct = {"dot_bias_act", dot_bias_act_decomposition, dot_bias_act_gradient};

Tensor dot_bias_act(Tensor a, Tensor b, Tensor bias, Tensor residual, Activation act, double alpha,
                    const DotOptions& o) {
  return emit1("dot_bias_act", {a, b, bias, residual},
               {{"act", number_of(act)},
                {"alpha", alpha},
                {"ta", o.ta},
                {"tb", o.tb},
                {"precision", number_of(o.precision)},
                {"out", o.out}});
}

}  // namespace tenon
