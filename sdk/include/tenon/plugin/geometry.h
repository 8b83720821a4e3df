// Shapes of the ops whose attributes need working out: gather, scatter and the convolutions. C++17, header only.
#pragma once

#include <array>
#include <cstdint>

#include "tenon/op/names.h"
#include "tenon/plugin/graph.h"

namespace tenon::plugin {

// Item i of a list attribute; `missing` where the list is absent or empty.
inline int64_t item(const NodeView& node, std::string_view list, size_t i, int64_t missing) {
  const Span<int64_t> items = node.list(list);
  return i < items.size() ? items[i] : missing;
}

// The sizes of gather's y[b,p,j,s] = x[b,p,i[b,j],s] and of scatter, with x's along the axis that is indexed, n.
struct IndexShape {
  int64_t b = 1, p = 1, j = 1, s = 1, n = 1;
};

inline IndexShape index_shape(const NodeView& node) {
  using indexed = op::gather;  // scatter has x and i in the same places
  const ValueView x = node.in(indexed::x);
  const int64_t axis = node.i64("axis"), batch = node.i64("batch");
  IndexShape g;
  for (int d = 0; d < x.rank(); ++d) (d < batch ? g.b : d < axis ? g.p : d == axis ? g.n : g.s) *= x.dim(d);
  g.j = node.in(indexed::i).elements() / g.b;
  return g;
}

// The sizes of x [batch, size.., c], w [taps.., c/groups, o], y [batch, out.., o], with three spatial axes: where there
// are fewer, the first have size 1. x's position of tap t at y's position p is p * stride + t * dilation - low along
// each axis.
struct ConvShape {
  using Axes = std::array<int64_t, 3>;
  int64_t batch = 1, c = 1, o = 1, groups = 1;
  Axes size{1, 1, 1}, taps{1, 1, 1}, out{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, low{0, 0, 0};
};

// Reads a node with a convolution's attributes, whose values these are.
inline ConvShape conv_shape(const NodeView& node, const ValueView& x, const ValueView& w, const ValueView& y) {
  ConvShape s;
  s.batch = x.dim(0), s.c = x.dim(-1), s.o = y.dim(-1), s.groups = node.i64("groups", 1);
  for (int i = 0, d = 5 - x.rank(); d < 3; ++i, ++d) {
    s.size[d] = x.dim(1 + i), s.taps[d] = w.dim(i), s.out[d] = y.dim(1 + i);
    s.stride[d] = item(node, "strides", i, 1), s.dilation[d] = item(node, "dilation", i, 1),
    s.low[d] = item(node, "low", i, 0);
  }
  return s;
}

// Reads a node of conv, conv_grad_input or conv_grad_filter.
inline ConvShape conv_shape(const NodeView& node) {
  using by_x = op::conv_grad_input;
  using by_w = op::conv_grad_filter;
  if (node.op() == "conv_grad_input")
    return conv_shape(node, node.out(by_x::out::dx), node.in(by_x::w), node.in(by_x::dy));
  if (node.op() == "conv_grad_filter")
    return conv_shape(node, node.in(by_w::x), node.out(by_w::out::dw), node.in(by_w::dy));
  return conv_shape(node, node.in(op::conv::x), node.in(op::conv::w), node.out(op::conv::out::y));
}

}  // namespace tenon::plugin
