#include "op/rules.h"

namespace tenon {
namespace {

Tensors conv_bias_act_decomposition(const Decompose& n) {
  using Op = op::conv_bias_act;
  ConvOptions o = conv_options(n);
  const DType out = o.out == DType::kNone ? n.in(Op::x).dtype() : o.out;
  o.out = compute_dtype(out);
  return {epilogue(conv(n.in(Op::x), n.in(Op::w), o), n.in(Op::bias), n.in(Op::residual), n, out)};
}

// The convolution again without its activation: compile/activation_apart.cc makes one of both.
Tensor argument_of_convolved(const Gradient& n) {
  using Op = op::conv_bias_act;
  return conv_bias_act(n.in(Op::x), n.in(Op::w), n.in(Op::bias), n.in(Op::residual), Activation::kNone, 0,
                       conv_options(n));
}

Tensors conv_bias_act_gradient(const Gradient& n) {
  const Tensor t = epilogue_place(n, [&] { return argument_of_convolved(n); });
  if (!t) return {};
  const BiasActGrad d = epilogue_gradient(n, t, n.needs(op::conv_bias_act::bias));
  const Tensors operands = conv_gradients(n, d.dz);
  return {operands[0], operands[1], d.dbias, d.dz};
}

}  // namespace

extern const OpDef kConvBiasAct;
constexpr OpDef kConvBiasAct = {"conv_bias_act", conv_bias_act_decomposition, conv_bias_act_gradient};

Tensor conv_bias_act(Tensor x, Tensor w, Tensor bias, Tensor residual, Activation act, double alpha,
                     const ConvOptions& o) {
  Attrs attrs = conv_attrs(o);
  attrs.push_back({"act", number_of(act)});
  attrs.push_back({"alpha", alpha});
  return emit1("conv_bias_act", {x, w, bias, residual}, std::move(attrs));
}

}  // namespace tenon
