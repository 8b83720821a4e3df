#include "op/rules.h"

namespace tenon {
namespace conv_grad_input_op {

Tensors gradient_rule(const Gradient& n) {
  ConvOptions o = conv_options(n);
  o.out = DType::kNone;
  const Tensor dy = n.in(0), w = n.in(1), g = cast(n.g(0), dy.dtype());
  const Ints kernel(w.shape().begin(), w.shape().end() - 2);
  return {n.needs(0) ? conv(g, w, o) : Tensor(), n.needs(1) ? conv_grad_filter(g, dy, kernel, o) : Tensor()};
}

}  // namespace conv_grad_input_op

extern const OpDef kConvGradInput;
constexpr OpDef kConvGradInput = {"conv_grad_input", nullptr, conv_grad_input_op::gradient_rule};

Tensor conv_grad_input(Tensor dy, Tensor w, const Ints& size, const ConvOptions& o) {
  Attrs attrs = conv_attrs(o);
  attrs.push_back({"size", size});
  return emit1("conv_grad_input", {dy, w}, std::move(attrs));
}

}  // namespace tenon
