#include "op/rules.h"

namespace tenon {
namespace conv_bias_act_op {

Tensors decompose_rule(const Decompose& n) {
  ConvOptions o = conv_options(n);
  const DType out = o.out == DType::kNone ? n.in(0).dtype() : o.out;
  o.out = compute_dtype(out);
  return {epilogue(conv(n.in(0), n.in(1), o), n.in(2), n.in(3), n, out)};
}

Tensors gradient_rule(const Gradient& n) {
  if (!gradient_from_result(activation_of(n))) return {};
  const BiasActGrad d = epilogue_gradient(n, n.needs(2));
  const Tensors operands = conv_gradients(n, d.dz);
  return {operands[0], operands[1], d.dbias, d.dz};
}

}  // namespace conv_bias_act_op

extern const OpDef kConvBiasAct;
constexpr OpDef kConvBiasAct = {"conv_bias_act", conv_bias_act_op::decompose_rule, conv_bias_act_op::gradient_rule};

Tensor conv_bias_act(Tensor x, Tensor w, Tensor bias, Tensor residual, Activation act, double alpha,
                     const ConvOptions& o) {
  Attrs attrs = conv_attrs(o);
  attrs.push_back({"act", number_of(act)});
  attrs.push_back({"alpha", alpha});
  return emit1("conv_bias_act", {x, w, bias, residual}, std::move(attrs));
}

}  // namespace tenon
