#include "op/rules.h"

namespace tenon {
namespace conv_grad_filter_op {

void shape_rule(Infer& c) {
  const Shape &x = c.shape(0), &dy = c.shape(1);
  c.expect_same_dtype(0, 1);
  c.expect_rank(0, 3, 5);
  c.expect_rank(1, x.rank(), x.rank());
  const Ints& size = c.list("size");
  c.expect(static_cast<int>(size.size()) == x.rank() - 2, "size has ", size.size(), " numbers, expected ",
           x.rank() - 2);
  const Window window = read_window(c, size);
  const int64_t groups = c.i64("groups");
  c.expect(groups >= 1 && x[-1] % groups == 0 && dy[-1] % groups == 0, "groups ", groups, " do not divide ", x[-1],
           " and ", dy[-1], " channels");
  c.expect(x[0] == dy[0], c.operand(1), " has batch ", dy[0], ", expected ", x[0]);
  for (int d = 0; d < x.rank() - 2; ++d)
    c.expect(window_output(window, d, x[d + 1]) == dy[d + 1], c.operand(1), " has size ", dy[d + 1],
             " in spatial dimension ", d, ", expected ", window_output(window, d, x[d + 1]));
  std::vector<int64_t> dims = size;
  dims.push_back(x[-1] / groups);
  dims.push_back(dy[-1]);
  c.result(c.dtype("out") == DType::kNone ? c.in(0).dtype : c.dtype("out"), Shape(dims));
}

Tensors gradient_rule(const Gradient& n) {
  ConvOptions o = conv_options(n);
  o.out = DType::kNone;
  const Tensor x = n.in(0), dy = n.in(1), g = cast(n.g(0), x.dtype());
  return {n.needs(0) ? conv_grad_input(dy, g, spatial_dims(x.shape()), o) : Tensor(),
          n.needs(1) ? conv(x, g, o) : Tensor()};
}

}  // namespace conv_grad_filter_op

extern const OpDef kConvGradFilter;
constexpr OpDef kConvGradFilter = {"conv_grad_filter", conv_grad_filter_op::shape_rule, nullptr,
                                   conv_grad_filter_op::gradient_rule};

Tensor conv_grad_filter(Tensor x, Tensor dy, const Ints& size, const ConvOptions& o) {
  Attrs attrs = conv_attrs(o);
  attrs.push_back({"size", size});
  return emit1("conv_grad_filter", {x, dy}, std::move(attrs));
}

}  // namespace tenon
