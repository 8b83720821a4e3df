#include "op/rules.h"

namespace tenon {
namespace dot_bias_act_op {

Tensors decompose_rule(const Decompose& n) {
  const DType out = n.dtype("out") == DType::kNone ? n.in(0).dtype() : n.dtype("out");
  const MathPrecision precision = static_cast<MathPrecision>(n.enumerator("precision"));
  const Tensor z = dot(n.in(0), n.in(1), {n.flag("ta"), n.flag("tb"), precision, compute_dtype(out)});
  return {epilogue(z, n.in(2), n.in(3), n, out)};
}

Tensors gradient_rule(const Gradient& n) {
  if (!gradient_from_result(activation_of(n))) return {};
  const BiasActGrad d = epilogue_gradient(n, n.needs(2));
  const Tensors operands = dot_gradients(n, d.dz);
  return {operands[0], operands[1], d.dbias, d.dz};
}

}  // namespace dot_bias_act_op

extern const OpDef kDotBiasAct;
constexpr OpDef kDotBiasAct = {"dot_bias_act", dot_bias_act_op::decompose_rule, dot_bias_act_op::gradient_rule};

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
