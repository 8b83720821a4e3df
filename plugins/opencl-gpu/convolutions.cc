// conv, conv_bias_act: x [N, S.., C], w [K.., C / G, O], [bias O], [residual as y] -> y [N, S'.., O].
// conv_grad_input: dy, w -> dx. conv_grad_filter: x, dy -> dw. All of them as products, one for each group.
#include "products.h"
#include "table.h"
#include "tenon/plugin/geometry.h"
#include "tenon/plugin/typed_table.h"

namespace opencl_gpu {
namespace {

using tenon::plugin::ConvShape;

int64_t volume(const ConvShape::Axes& a) { return a[0] * a[1] * a[2]; }

// What the three have in common: groups and taps.
Product windows_of(const ConvShape& s) {
  Product p;
  p.batch = s.groups;
  for (int d = 0; d < 3; ++d)
    p.taps[d] = s.taps[d], p.stride[d] = s.stride[d], p.dilation[d] = s.dilation[d], p.low[d] = s.low[d];
  return p;
}

void go(Product& p, const ConvShape::Axes& from, const ConvShape::Axes& to) {
  for (int d = 0; d < 3; ++d) p.from[d] = from[d], p.to[d] = to[d];
}

Product forward_of(const ConvShape& s) {
  const int64_t inputs = s.c / s.groups, outputs = s.o / s.groups;
  Product p = windows_of(s);
  go(p, s.size, s.out);
  p.m = s.batch * volume(s.out), p.n = outputs, p.k = volume(s.taps) * inputs;
  p.channels = inputs, p.pitch = s.c, p.a_batch = inputs;
  p.b_batch = outputs, p.b_inner = p.k, p.b_row = s.o;
  p.c_batch = outputs, p.c_row = s.o;
  return p;
}

Product grad_input_of(const ConvShape& s) {
  const int64_t inputs = s.c / s.groups, outputs = s.o / s.groups;
  Product p = windows_of(s);
  go(p, s.out, s.size);
  p.m = s.batch * volume(s.size), p.n = inputs, p.k = volume(s.taps) * outputs;
  p.channels = outputs, p.pitch = s.o, p.a_batch = outputs;
  p.b_batch = outputs, p.b_inner = outputs, p.b_outer_row = inputs * s.o, p.b_row = 1, p.b_column = s.o;
  p.c_batch = inputs, p.c_row = s.c;
  return p;
}

Product grad_filter_of(const ConvShape& s) {
  const int64_t inputs = s.c / s.groups, outputs = s.o / s.groups;
  Product p = windows_of(s);
  go(p, s.size, s.out);
  p.m = volume(s.taps) * inputs, p.n = outputs, p.k = s.batch * volume(s.out);
  p.channels = inputs, p.pitch = s.c, p.a_batch = inputs;
  p.b_batch = outputs, p.b_inner = p.k, p.b_row = s.o;
  p.c_batch = outputs, p.c_row = s.o;
  return p;
}

Kernel make_convolution(const NodeView& node, const Env& env) {
  Driver& driver = driver_of(*env.device);
  const ConvShape s = conv_shape(node);
  if (node.op() == "conv_grad_input") return product_kernel(driver, grad_input_of(s), kind_of(node, AIs::kGradient));
  if (node.op() == "conv_grad_filter")
    return product_kernel(driver, grad_filter_of(s), kind_of(node, AIs::kTransposedWindows));
  Product p = forward_of(s);
  p.set_alpha(node.f64("alpha"));
  return product_kernel(driver, p, kind_of(node, AIs::kWindows));
}

}  // namespace

void add_convolutions(KernelTable& table) {
  for (const char* op : {"conv", "conv_bias_act", "conv_grad_input", "conv_grad_filter"})
    table.add(op, tenon::plugin::takes<tenon::plugin::Floats>(), make_convolution);
}

}  // namespace opencl_gpu
