#include "op/rules.h"

namespace tenon {
namespace {

Tensors conv_gradient(const Gradient& n) { return conv_gradients(n, n.g(0)); }

}  // namespace

Tensors conv_gradients(const Gradient& n, Tensor grad) {
  const ConvOptions o = conv_options(n);
  const Tensor x = n.in(op::conv::x), w = n.in(op::conv::w), g = cast(grad, x.dtype());
  const Ints kernel(w.shape().begin(), w.shape().end() - 2);
  ConvOptions back = o;
  back.out = DType::kNone;
  return {n.needs(op::conv::x) ? conv_grad_input(g, w, spatial_dims(x.shape()), back) : Tensor(),
          n.needs(op::conv::w) ? conv_grad_filter(x, g, kernel, back) : Tensor()};
}

extern const OpDef kConv;
constexpr OpDef kConv = {"conv", nullptr, conv_gradient};

Tensor conv(Tensor x, Tensor w, const ConvOptions& o) { return emit1("conv", {x, w}, conv_attrs(o)); }

}  // namespace tenon
