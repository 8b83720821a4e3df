#include "op/rules.h"

namespace tenon {
namespace conv_grad_filter_op {

Tensors gradient_rule(const Gradient& n) {
  ConvOptions o = conv_options(n);
  o.out = DType::kNone;
  const Tensor x = n.in(0), dy = n.in(1), g = cast(n.g(0), x.dtype());
  return {n.needs(0) ? conv_grad_input(dy, g, spatial_dims(x.shape()), o) : Tensor(),
          n.needs(1) ? conv(x, g, o) : Tensor()};
}

}  // namespace conv_grad_filter_op

extern const OpDef kConvGradFilter;
constexpr OpDef kConvGradFilter = {"conv_grad_filter", nullptr, conv_grad_filter_op::gradient_rule};

Tensor conv_grad_filter(Tensor x, Tensor dy, const Ints& size, const ConvOptions& o) {
  Attrs attrs = conv_attrs(o);
  attrs.push_back({"size", size});
  return emit1("conv_grad_filter", {x, dy}, std::move(attrs));
}

}  // namespace tenon
