// conv, conv_bias_act: x [N, S.., C], w [K.., C / G, O], [bias O], [residual as y] -> y [N, S'.., O].
// cpu.conv_norm: the same, a batch norm of given moments before the residual: x, w, [bias], [residual], gamma, beta, mean,
// var -> y.
// conv_grad_input: dy, w -> dx. conv_grad_filter: x, dy -> dw.
#include <cmath>

#include "kernels/conv/conv_batch_norm.h"
#include "kernels/conv/conv_filter.h"
#include "kernels/conv/conv_pairs.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/conv_planar.h"
#include "kernels/conv/pooled/conv_pool.h"
#include "kernels/conv/winograd/conv_winograd.h"
#include "kernels/conv/winograd/conv_winograd5.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/narrow.h"

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

// Of the moments behind the residual; each thread has a scale of its own in `room`.
ColumnNorm norm_of(const Call& call, int64_t channels, float eps, float* room) {
  const float *gamma = call.in(4), *var = call.in(7);
  for (int64_t i = 0; i < channels; ++i) room[i] = gamma[i] / std::sqrt(var[i] + eps);
  return {call.in(6), room, call.in(5)};
}

// By any of the classes that compute a convolution from GemmData or GatherData.
template <class Data, class Work>
Kernel conv_kernel(const std::shared_ptr<Work>& work, const ConvShape& s) {
  Kernel kernel = kernel_of(work);
  const uint64_t own = (kernel.thread_scratch_bytes + 63) / 64 * 64;  // the scale is behind it
  if (s.norm) kernel.thread_scratch_bytes = own + static_cast<uint64_t>(s.o) * sizeof(float);
  kernel.run = [=, bias = s.bias, residual = s.residual, norm = s.norm, o = s.o, eps = s.eps](const Call& call) {
    Data data{call.in(0), call.in(1), bias ? call.in(2) : nullptr, residual ? call.in(3) : nullptr, call.out(0)};
    float* const room = reinterpret_cast<float*>(static_cast<char*>(call.thread_scratch) + own);
    if (norm) data.norm = norm_of(call, o, eps, room);
    work->run(call, data);
  };
  return kernel;
}

Kernel product_kernel(const GemmShape& shape, const ConvShape& s = {}) {
  return conv_kernel<GemmData>(std::make_shared<Gemm>(shape), s);
}

Kernel gather_kernel(const GatherPlan& plan, const ConvShape& s = {}) {
  if (!s.residual && !s.norm && Planar::suits(plan)) return conv_kernel<GatherData>(std::make_shared<Planar>(plan), s);
  return conv_kernel<GatherData>(std::make_shared<Gather>(plan), s);
}

Kernel make_conv(const ConvShape& s) {
  GemmShape product{1, s.batch * s.y_points(), s.o, s.c, false, false, s.act, static_cast<float>(s.alpha)};
  if (is_product(s)) return product_kernel(product, s);
  if (is_strided_product(s)) {
    product.a_at = points_of_x(s);
    return product_kernel(product, s);
  }
  return gather_kernel(forward_plan(s), s);
}

Kernel make_grad_input(const ConvShape& s) {
  if (is_product(s)) return product_kernel({1, s.batch * s.y_points(), s.c, s.o, false, true});
  return gather_kernel(input_gradient_plan(s));
}

Kernel make_grad_filter(const ConvShape& s) {
  if (is_product(s)) return product_kernel({1, s.c, s.o, s.batch * s.y_points(), true, false});
  auto grad = std::make_shared<FilterGrad>(s);
  Kernel kernel = kernel_of(grad);
  kernel.run = [grad](const Call& call) { grad->run(call, call.in(0), call.in(1), call.out(0)); };
  return kernel;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool is_pooled(const NodeView& node) { return node.op() == "cpu.conv_pool" || node.op().substr(0, 10) == "cpu.pooled"; }

enum Operand { kX, kFilter, kY };

// Which of x, filter and y the two operands and the result are.
struct Roles {
  Operand first, second, result;
};
Roles roles_of(const NodeView& node) {
  if (ends_with(node.op(), "grad_input")) return {kY, kFilter, kX};
  if (ends_with(node.op(), "grad_filter")) return {kX, kY, kFilter};
  return {kX, kFilter, kY};
}

plugin::ValueView value_of(const NodeView& node, Operand what) {
  const Roles roles = roles_of(node);
  return roles.first == what ? node.in(0) : roles.second == what ? node.in(1) : node.out(0);
}

plugin::Verdict accept_convolution(const NodeView& node) {
  for (int i = 0; i < node.operands(); ++i)
    if (node.has(i) && !plugin::is_float(node.in(i).dtype()))
      return plugin::refuse(std::string("operands of dtype ") + plugin::dtype_name(node.in(i).dtype()));
  if (node.in(0).rank() < 3 || node.in(0).rank() > 5) return plugin::refuse("1 to 3 spatial dimensions only");
  if (node.enumerator("act") > TENON_ACT_HARD_SWISH) return plugin::decompose();
  return plugin::take();
}

// Of bf16 without copies of f32.
Kernel make_half_conv(const ConvShape& s, bool gradient, bool exact) {
  const ConvWork work = conv_work(s, gradient, exact, TENON_BF16);
  Kernel kernel = kernel_of(&work);
  kernel.run = [=, bias = !gradient && s.bias, residual = s.residual](const Call& call) {
    work.run(call, {call.in(0), call.in(1), bias ? call.in(2) : nullptr, residual ? call.in(3) : nullptr, call.out(0)});
  };
  return kernel;
}

// Whether a convolution, or a gradient of one, has bf16 for all operands.
bool takes_bf16(const NodeView& node) {
  bool all = true;
  for (int i = 0; i < node.operands(); ++i) all = all && (!node.has(i) || node.in(i).dtype() == TENON_BF16);
  return all;
}

Kernel winograd_filter_kernel(const ConvShape& s) {
  auto work = std::make_shared<WinogradFilterGrad>(s);
  Kernel kernel = kernel_of(work);
  kernel.run = [work](const Call& call) { work->run(call, call.in(0), call.in(1), call.out(0)); };
  return kernel;
}

Kernel make_convolution(const NodeView& node, const Env& env) {
  const ConvShape s = conv_shape(node);
  if (node.in(0).dtype() == TENON_F64) return make_conv_f64(node, s);
  const bool input = node.op() == "conv_grad_input", filter = node.op() == "conv_grad_filter";
  const bool exact = std::max(node.enumerator("precision"), env.precision) >= TENON_PRECISION_HIGHEST;
  if (takes_bf16(node) && (filter || node.out(0).dtype() == TENON_BF16)) {
    if (filter && has_half_filter_gradient(s, exact)) return make_half_filter_gradient(node, s, exact);
    if (!filter && has_half_work(s, input, exact)) return make_half_conv(s, input, exact);
  }
  if (!exact && filter && winograd_filter_gains(s)) return narrowed(node, winograd_filter_kernel(s));
  if (!exact && !filter && winograd_gains(s, input))
    return narrowed(node, conv_kernel<GatherData>(std::make_shared<Winograd>(s, input), s));
  if (!exact && !filter && !s.residual && !s.norm) {
    const GatherPlan plan = input ? input_gradient_plan(s) : forward_plan(s);
    if (Winograd5::suits(plan)) return narrowed(node, conv_kernel<GatherData>(std::make_shared<Winograd5>(plan), s));
  }
  return narrowed(node, filter ? make_grad_filter(s) : input ? make_grad_input(s) : make_conv(s));
}

}  // namespace

ConvShape conv_shape(const NodeView& node) {
  const plugin::ValueView x = value_of(node, kX), k = value_of(node, kFilter), y = value_of(node, kY);
  ConvShape s;
  s.batch = x.dim(0);
  s.c = x.dim(-1);
  s.o = y.dim(-1);
  spread(x, 1, s.x);
  spread(y, 1, s.y);
  spread(k, 0, s.k);
  spread(node.list("strides"), s.stride);
  spread(node.list("dilation"), s.dilation);
  spread(node.list("low"), s.low);
  s.groups = node.i64("groups", 1);
  if (is_pooled(node))
    for (int d = 1; d < 3; ++d) s.y[d] *= 2;  // of the map; a row or column that the pool drops is none
  s.norm = node.op() == "cpu.conv_norm";
  if (node.op() != "conv_bias_act" && node.op() != "cpu.conv_pool" && !s.norm) return s;
  s.eps = static_cast<float>(node.f64("eps", 1e-3));
  s.bias = node.has(2);
  s.residual = node.has(3);
  s.act = node.enumerator("act");
  s.alpha = node.f64("alpha");
  return s;
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

void add_convolution(KernelTable& table) {
  for (const char* op : {"conv", "conv_bias_act", "conv_grad_input", "conv_grad_filter"})
    table.add(op, accept_convolution, make_convolution);
  table.add_own("cpu.conv_norm", make_convolution);
  add_pooled_convolution(table);
  add_normed_convolution(table);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
