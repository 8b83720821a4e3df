#include "kernels/conv/conv_shape.h"

#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Spatial dimensions into the last of three.
void spread(plugin::Span<int64_t> list, int64_t* to) {
  const size_t n = list.size() < 3 ? list.size() : 3;
  for (size_t i = 0; i < n; ++i) to[3 - n + i] = list[i];
}
void spread(const plugin::ValueView& value, int first, int64_t* to) {
  spread({value.dims().data() + first, static_cast<size_t>(value.rank() - 2)}, to);
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

ConvDirection direction_of(const NodeView& node) {
  if (ends_with(node.op(), "grad_input")) return kInputGradient;
  return ends_with(node.op(), "grad_filter") ? kFilterGradient : kForward;
}

bool is_pooled(const NodeView& node) { return node.op() == "cpu.conv_pool" || node.op().substr(0, 10) == "cpu.pooled"; }

// What the first two operands and the first result are: cpu.so's own nodes have them where the ops do.
struct Roles {
  plugin::ValueView x, filter, y;
};
Roles roles_of(const NodeView& node) {
  using by_x = op::conv_grad_input;
  using by_w = op::conv_grad_filter;
  switch (direction_of(node)) {
    case kInputGradient:
      return {node.out(by_x::out::dx), node.in(by_x::w), node.in(by_x::dy)};
    case kFilterGradient:
      return {node.in(by_w::x), node.out(by_w::out::dw), node.in(by_w::dy)};
    default:
      return {node.in(op::conv::x), node.in(op::conv::w), node.out(op::conv::out::y)};
  }
}

// What is done to the sums before they are stored. A batch norm behind the convolution is not (conv_batch_norm.cc).
void read_epilogue(const NodeView& node, ConvShape* s) {
  if (node.op() == "conv" || direction_of(node) != kForward) return;
  s->bias = node.has(op::conv_bias_act::bias);
  if (node.op() == "cpu.batch_norm.conv") return;
  s->norm = node.op() == "cpu.conv_norm";
  s->eps = static_cast<float>(node.f64("eps", 1e-3));
  s->residual = node.has(op::conv_bias_act::residual);
  s->act = node.enumerator("act");
  s->alpha = node.f64("alpha");
}

ConvShape conv_shape(const NodeView& node) {
  const auto [x, filter, y] = roles_of(node);
  ConvShape s;
  s.batch = x.dim(0);
  s.c = x.dim(-1);
  s.o = y.dim(-1);
  spread(x, 1, s.x);
  spread(y, 1, s.y);
  spread(filter, 0, s.k);
  spread(node.list("strides"), s.stride);
  spread(node.list("dilation"), s.dilation);
  spread(node.list("low"), s.low);
  s.groups = node.i64("groups", 1);
  if (is_pooled(node))
    for (int d = 1; d < 3; ++d) s.y[d] *= 2;  // of the map; a row or column that the pool drops is none
  read_epilogue(node, &s);
  return s;
}

int32_t common_dtype(const NodeView& node) {
  const int32_t dtype = node.in(0).dtype();
  if (dtype == TENON_F64) return dtype;
  if (direction_of(node) != kFilterGradient && node.out(0).dtype() != dtype) return TENON_F32;
  const bool normed = node.op() == "cpu.conv_norm" || node.op().substr(0, 15) == "cpu.batch_norm.";
  if (normed) return dtype;  // the norm's own vectors are f32
  for (int i = 1; i < node.operands(); ++i)
    if (node.has(i) && node.in(i).dtype() != dtype) return TENON_F32;
  return dtype;
}

}  // namespace

ConvProblem conv_problem(const NodeView& node) {
  ConvProblem p;
  p.shape = conv_shape(node);
  p.direction = direction_of(node);
  p.dtype = common_dtype(node);
  p.result_dtype = node.out(0).dtype();
  p.pooled = is_pooled(node);
  p.exact = node.enumerator("precision") >= TENON_PRECISION_HIGHEST;
  return p;
}

bool is_product(const ConvShape& s) {
  bool plain = s.taps() == 1 && s.groups == 1;
  for (int d = 0; d < 3; ++d) plain = plain && s.stride[d] == 1 && s.low[d] == 0 && s.x[d] == s.y[d];
  return plain;
}

bool is_strided_product(const ConvShape& s) {
  bool one = s.taps() == 1 && s.groups == 1 && s.o > 1;
  for (int d = 0; d < 3; ++d) one = one && s.low[d] == 0 && (s.y[d] - 1) * s.stride[d] < s.x[d];
  return one;
}

std::vector<int64_t> points_of_x(const ConvShape& s) {
  std::vector<int64_t> at;
  for (int64_t i = 0; i < s.batch; ++i)
    for (int64_t a = 0; a < s.y[0]; ++a)
      for (int64_t b = 0; b < s.y[1]; ++b)
        for (int64_t c = 0; c < s.y[2]; ++c)
          at.push_back((((i * s.x[0] + a * s.stride[0]) * s.x[1] + b * s.stride[1]) * s.x[2] + c * s.stride[2]) * s.c);
  return at;
}

}  // namespace tenon::cpu::TENON_CPU_ISA
