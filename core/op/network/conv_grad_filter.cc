#include "op/rules.h"

namespace tenon {
namespace {

Tensors conv_grad_filter_gradient(const Gradient& n) {
  using Op = op::conv_grad_filter;
  ConvOptions o = conv_options(n);
  o.out = DType::kNone;
  const Tensor x = n.in(Op::x), dy = n.in(Op::dy), g = cast(n.g(0), x.dtype());
  return {n.needs(Op::x) ? conv_grad_input(dy, g, spatial_dims(x.shape()), o) : Tensor(),
          n.needs(Op::dy) ? conv(x, g, o) : Tensor()};
}

}  // namespace

extern const OpDef kConvGradFilter;
constexpr OpDef kConvGradFilter = {"conv_grad_filter", nullptr, conv_grad_filter_gradient};

Tensor conv_grad_filter(Tensor x, Tensor dy, const Ints& size, const ConvOptions& o) {
  Attrs attrs = conv_attrs(o);
  attrs.push_back({"size", size});
  return emit1("conv_grad_filter", {x, dy}, std::move(attrs));
}

}  // namespace tenon
