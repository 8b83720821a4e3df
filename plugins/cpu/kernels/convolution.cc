// conv, conv_bias_act: x [N, S.., C], w [K.., C / G, O], [bias O], [residual as y] -> y [N, S'.., O].
// conv_grad_input: dy, w -> dx. conv_grad_filter: x, dy -> dw.
#include <numeric>

#include "kernels/conv_filter.h"
#include "kernels/conv_gather.h"
#include "kernels/gemm.h"
#include "kernels/narrow.h"

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

Point point(const int64_t* p) { return {{p[0], p[1], p[2]}}; }
constexpr Point kZero{{0, 0, 0}}, kOne{{1, 1, 1}};

// Every point of y needs that point of x alone.
bool is_product(const ConvShape& s) {
  bool plain = s.taps() == 1 && s.groups == 1;
  for (int d = 0; d < 3; ++d) plain = plain && s.stride[d] == 1 && s.low[d] == 0 && s.x[d] == s.y[d];
  return plain;
}

GatherPlan plan_of(const ConvShape& s, bool gradient) {
  GatherPlan p;
  p.batch = s.batch;
  p.groups = s.groups;
  p.from_c = gradient ? s.o : s.c;
  p.to_c = gradient ? s.c : s.o;
  p.from = point(gradient ? s.y : s.x);
  p.to = point(gradient ? s.x : s.y);
  p.kernel = point(s.k);
  p.transposed = gradient;
  return p;
}

GatherPlan forward_plan(const ConvShape& s) {
  GatherPlan p = plan_of(s, false);
  p.from_step = point(s.stride);
  p.to_step = kOne;
  p.act = s.act;
  p.alpha = static_cast<float>(s.alpha);
  GatherPhase g;
  g.count = p.to;
  g.to_first = kZero;
  for (int d = 0; d < 3; ++d) g.first[d] = -s.low[d];
  g.step = point(s.dilation);
  g.taps = p.kernel;
  g.tap_first = kZero;
  g.tap_step = kOne;
  p.phases.push_back(g);
  return p;
}

// x's points i = q stride + residue of one axis: taps t with (i + low - t dilation) divisible by the
// stride, the last first, so that they walk dy upwards.
void phase_of(const ConvShape& s, int d, int64_t residue, GatherPhase* g) {
  const int64_t stride = s.stride[d], step = stride / std::gcd(stride, s.dilation[d]);
  int64_t last = -1;
  for (int64_t t = 0; t < s.k[d]; ++t)
    if ((residue + s.low[d] - t * s.dilation[d]) % stride == 0) last = t;
  g->count[d] = ceil_div(s.x[d] - residue, stride);
  g->to_first[d] = residue;
  g->taps[d] = last < 0 ? 0 : last / step + 1;
  g->tap_first[d] = last;
  g->tap_step[d] = -step;
  g->first[d] = last < 0 ? 0 : (residue + s.low[d] - last * s.dilation[d]) / stride;
  g->step[d] = s.dilation[d] * step / stride;
}

GatherPlan input_gradient_plan(const ConvShape& s) {
  GatherPlan p = plan_of(s, true);
  p.from_step = kOne;
  p.to_step = point(s.stride);
  Point r;
  GatherPhase g;
  for (r[0] = 0; r[0] < std::min(s.stride[0], s.x[0]); ++r[0])
    for (r[1] = 0; r[1] < std::min(s.stride[1], s.x[1]); ++r[1])
      for (r[2] = 0; r[2] < std::min(s.stride[2], s.x[2]); ++r[2]) {
        for (int d = 0; d < 3; ++d) phase_of(s, d, r[d], &g);
        if (g.taps.product() == 0) g.taps = kZero;
        p.phases.push_back(g);
      }
  return p;
}

template <class Work>
Kernel kernel_of(const Work& work) {
  Kernel kernel;
  kernel.threads = work->threads();
  kernel.scratch_bytes = work->scratch_bytes();
  kernel.thread_scratch_bytes = work->thread_scratch_bytes();
  return kernel;
}

Kernel product_kernel(const GemmShape& shape, bool bias = false, bool residual = false) {
  auto gemm = std::make_shared<Gemm>(shape);
  Kernel kernel = kernel_of(gemm);
  kernel.run = [=](const Call& call) {
    gemm->run(call,
              {call.in(0), call.in(1), bias ? call.in(2) : nullptr, residual ? call.in(3) : nullptr, call.out(0)});
  };
  return kernel;
}

Kernel gather_kernel(GatherPlan plan, bool bias = false, bool residual = false) {
  auto gather = std::make_shared<Gather>(std::move(plan));
  Kernel kernel = kernel_of(gather);
  kernel.run = [=](const Call& call) {
    gather->run(call,
                {call.in(0), call.in(1), bias ? call.in(2) : nullptr, residual ? call.in(3) : nullptr, call.out(0)});
  };
  return kernel;
}

Kernel make_conv(const ConvShape& s) {
  if (is_product(s))
    return product_kernel({1, s.batch * s.y_points(), s.o, s.c, false, false, s.act, static_cast<float>(s.alpha)},
                          s.bias, s.residual);
  return gather_kernel(forward_plan(s), s.bias, s.residual);
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

enum Operand { kX, kFilter, kY };

// Which of x, filter and y the two operands and the result are.
struct Roles {
  Operand first, second, result;
};
Roles roles_of(const NodeView& node) {
  if (node.op() == "conv_grad_input") return {kY, kFilter, kX};
  if (node.op() == "conv_grad_filter") return {kX, kY, kFilter};
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

Kernel make_convolution(const NodeView& node, const Env&) {
  const ConvShape s = conv_shape(node);
  if (node.in(0).dtype() == TENON_F64) return make_conv_f64(node, s);
  if (node.op() == "conv_grad_input") return narrowed(node, make_grad_input(s));
  if (node.op() == "conv_grad_filter") return narrowed(node, make_grad_filter(s));
  return narrowed(node, make_conv(s));
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
  if (node.op() != "conv_bias_act") return s;
  s.bias = node.has(2);
  s.residual = node.has(3);
  s.act = node.enumerator("act");
  s.alpha = node.f64("alpha");
  return s;
}

bool is_depthwise(const ConvShape& s) { return s.groups > 1 && s.groups == s.c && s.groups == s.o; }

void add_convolution(KernelTable& table) {
  for (const char* op : {"conv", "conv_bias_act", "conv_grad_input", "conv_grad_filter"})
    table.add(op, accept_convolution, make_convolution);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
