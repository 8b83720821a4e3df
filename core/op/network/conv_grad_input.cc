#include "op/rules.h"

namespace tenon {
namespace conv_grad_input_op {

void shape_rule(Infer& c) {
  const Shape &dy = c.shape(0), &w = c.shape(1);
  c.expect_same_dtype(0, 1);
  c.expect_rank(0, 3, 5);
  c.expect_rank(1, dy.rank(), dy.rank());
  const Window window = read_window(c, Ints(w.begin(), w.end() - 2));
  const Ints& size = c.list("size");
  const int64_t groups = c.i64("groups");
  c.expect(static_cast<int>(size.size()) == dy.rank() - 2, "size has ", size.size(), " numbers, expected ",
           dy.rank() - 2);
  c.expect(groups >= 1 && w[-1] % groups == 0, "groups ", groups, " do not divide ", w[-1], " filters");
  c.expect(dy[-1] == w[-1], c.operand(0), " has ", dy[-1], " channels, filter expects ", w[-1]);
  Shape dx = dy;
  for (int d = 0; d < dy.rank() - 2; ++d) {
    const bool is_size = size[d] >= 1 && size[d] < (int64_t{1} << 60);
    c.expect(is_size && window_output(window, d, size[d]) == dy[d + 1], "input size ", size[d],
             " in spatial dimension ", d, " does not give ", dy[d + 1]);
    dx.set(d + 1, size[d]);
  }
  dx.set(-1, w[-2] * groups);
  c.result(c.dtype("out") == DType::kNone ? c.in(0).dtype : c.dtype("out"), dx);
}

Tensors gradient_rule(const Gradient& n) {
  ConvOptions o = conv_options(n);
  o.out = DType::kNone;
  const Tensor dy = n.in(0), w = n.in(1), g = cast(n.g(0), dy.dtype());
  const Ints kernel(w.shape().begin(), w.shape().end() - 2);
  return {n.needs(0) ? conv(g, w, o) : Tensor(), n.needs(1) ? conv_grad_filter(g, dy, kernel, o) : Tensor()};
}

}  // namespace conv_grad_input_op

extern const OpDef kConvGradInput;
constexpr OpDef kConvGradInput = {"conv_grad_input", conv_grad_input_op::shape_rule, nullptr,
                                  conv_grad_input_op::gradient_rule};

Tensor conv_grad_input(Tensor dy, Tensor w, const Ints& size, const ConvOptions& o) {
  Attrs attrs = conv_attrs(o);
  attrs.push_back({"size", size});
  return emit1("conv_grad_input", {dy, w}, std::move(attrs));
}

}  // namespace tenon
