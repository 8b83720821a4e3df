// conv, conv_bias_act: x [N, S.., C], w [K.., C / G, O], [bias O], [residual as y] -> y [N, S'.., O].
// conv_grad_input: dy, w -> dx. conv_grad_filter: x, dy -> dw. All of them as products, one for each group where those are few.
#include <algorithm>

#include "device/table.h"
#include "products/conv_groups.h"
#include "products/filter_grad.h"
#include "products/pooled.h"
#include "products/products.h"
#include "products/winograd.h"
#include "tenon/plugin/geometry.h"
#include "tenon/plugin/typed_table.h"

namespace opencl_gpu {

void add_pools(KernelTable& table);  // pools.cc

namespace {

using tenon::plugin::ConvShape;

int64_t volume(const ConvShape::Axes& a) { return a[0] * a[1] * a[2]; }

// What the three have in common: groups and taps.
Product windows_of(const ConvShape& s) {
  Product p;
  p.batch = s.groups;
  for (int d = 0; d < 3; ++d) p.taps[d] = s.taps[d];
  return p;
}

void go(Product& p, const ConvShape::Axes& from, const ConvShape::Axes& to) {
  for (int d = 0; d < 3; ++d) p.from[d] = from[d], p.to[d] = to[d];
}

// The windows of y's points in x.
void read_x(Product& p, const ConvShape& s) {
  for (int d = 0; d < 3; ++d) p.up[d] = s.stride[d], p.step[d] = s.dilation[d], p.shift[d] = -s.low[d];
  p.dense = s.dilation[2] == 1 && s.groups == 1;
}

Product forward_of(const ConvShape& s) {
  const int64_t inputs = s.c / s.groups, outputs = s.o / s.groups;
  Product p = windows_of(s);
  go(p, s.size, s.out);
  read_x(p, s);
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
  for (int d = 0; d < 3; ++d) p.step[d] = -s.dilation[d], p.shift[d] = s.low[d], p.down[d] = s.stride[d];
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
  read_x(p, s);
  p.m = volume(s.taps) * inputs, p.n = outputs, p.k = s.batch * volume(s.out);
  p.channels = inputs, p.pitch = s.c, p.a_batch = inputs;
  p.b_batch = outputs, p.b_inner = p.k, p.b_row = s.o;
  p.c_batch = outputs, p.c_row = s.o;
  return p;
}

Kernel product_of_windows(const NodeView& node, const Env& env, const Product& p, const ProductKind& kind) {
  Driver& driver = driver_of(*env.device);
  return conv_groups_suits(driver, p, kind) ? conv_groups_kernel(driver, p, kind) : product_kernel(node, env, p, kind);
}

Kernel make_filter_gradient(const NodeView& node, const Env& env, bool exact) {
  Driver& driver = driver_of(*env.device);
  const ConvShape s = conv_shape(node);
  const ProductKind kind = kind_of(node, AIs::kWindows);
  if (!exact && winograd_filter_suits(driver, s, kind)) return winograd_filter_kernel(driver, s, kind);
  if (filter_grad_suits(driver, s, kind)) return filter_grad_kernel(node, env, s, kind);
  return product_of_windows(node, env, grad_filter_of(s), kind_of(node, AIs::kTransposedWindows));
}

Kernel make_convolution(const NodeView& node, const Env& env) {
  Driver& driver = driver_of(*env.device);
  const bool exact = node.enumerator("precision") >= TENON_PRECISION_HIGHEST;
  if (node.op() == "conv_grad_filter") return make_filter_gradient(node, env, exact);
  const ConvShape s = conv_shape(node);
  const bool input = node.op() == "conv_grad_input";
  const ProductKind kind = kind_of(node, AIs::kWindows);
  if (!exact && winograd_suits(driver, s, kind, input))
    return winograd_kernel(driver, s, kind, input, node.f64("alpha"));
  Product p = input ? grad_input_of(s) : forward_of(s);
  if (!input) p.set_alpha(node.f64("alpha"));
  return product_of_windows(node, env, p, kind);
}

}  // namespace

void add_convolutions(KernelTable& table) {
  for (const char* op : {"conv", "conv_bias_act", "conv_grad_input", "conv_grad_filter"})
    table.add(op, tenon::plugin::takes<tenon::plugin::Floats>(), make_convolution);
  add_pools(table);
  add_pooled(table);
}

}  // namespace opencl_gpu
