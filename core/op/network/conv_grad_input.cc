#include "op/rules.h"

namespace tenon {
namespace {

Tensors conv_grad_input_gradient(const Gradient& n) {
  using Op = op::conv_grad_input;
  ConvOptions o = conv_options(n);
  o.out = DType::kNone;
  const Tensor dy = n.in(Op::dy), w = n.in(Op::w), g = cast(n.g(0), dy.dtype());
  const Ints kernel(w.shape().begin(), w.shape().end() - 2);
  return {n.needs(Op::dy) ? conv(g, w, o) : Tensor(), n.needs(Op::w) ? conv_grad_filter(g, dy, kernel, o) : Tensor()};
}

}  // namespace

extern const OpDef kConvGradInput;
constexpr OpDef kConvGradInput = {"conv_grad_input", nullptr, conv_grad_input_gradient};

Tensor conv_grad_input(Tensor dy, Tensor w, const Ints& size, const ConvOptions& o) {
  Attrs attrs = conv_attrs(o);
  attrs.push_back({"size", size});
  return emit1("conv_grad_input", {dy, w}, std::move(attrs));
}

}  // namespace tenon
