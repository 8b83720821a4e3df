// What a node costs at least: arithmetic and memory traffic. For profiles and predictions.
// C++17, header only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "tenon/op/names.h"
#include "tenon/plugin/graph.h"

namespace tenon::plugin {

struct Cost {
  uint64_t flops = 0;  // a product and a sum count as 2; other ops count 1 an element
  uint64_t bytes = 0;  // every operand read once (of a gather's source what it takes), every result written once
  Cost& operator+=(const Cost& other) {
    flops += other.flops;
    bytes += other.bytes;
    return *this;
  }
};

namespace detail {

// What a convolution costs whose spatial results are those of `y` and whose filter [K.., C/G, O] is `w`: each element
// of y is a sum over all of the filter but O.
inline uint64_t convolution_flops(const ValueView& y, const ValueView& w) {
  return static_cast<uint64_t>(2 * y.elements() * (w.elements() / std::max<int64_t>(w.dim(-1), 1)));
}

// q[B,T,N,D] k[B,S,M,D]: one product of a T x S matrix for each head.
inline uint64_t attention_product_flops(const NodeView& node, int q, int k) {
  return static_cast<uint64_t>(2 * node.in(q).elements() * node.in(k).dim(1));
}

// Each step of x[B,T,I] times W, and the state before it times R.
inline uint64_t recurrent_flops(const NodeView& node, int x, int w, int r) {
  const auto steps = static_cast<uint64_t>(node.in(x).dim(0) * node.in(x).dim(1));
  return 2 * steps * static_cast<uint64_t>(node.in(w).elements() + node.in(r).elements());
}

inline uint64_t arithmetic(const NodeView& node) {
  const std::string_view op = node.op();
  if (op == "dot" || op == "dot_bias_act") {
    const bool transposed = node.flag("ta");
    return static_cast<uint64_t>(2 * node.out(op::dot::out::y).elements() *
                                 node.in(op::dot::a).dim(transposed ? -2 : -1));
  }
  if (op == "conv" || op == "conv_bias_act") return convolution_flops(node.out(op::conv::out::y), node.in(op::conv::w));
  if (op == "conv_grad_input")
    return convolution_flops(node.in(op::conv_grad_input::dy), node.in(op::conv_grad_input::w));
  if (op == "conv_grad_filter")
    return convolution_flops(node.in(op::conv_grad_filter::dy), node.out(op::conv_grad_filter::out::dw));
  if (op == "attention") return 2 * attention_product_flops(node, op::attention::q, op::attention::k);
  if (op == "attention_grad") return 5 * attention_product_flops(node, op::attention_grad::q, op::attention_grad::k);
  if (op == "gather") return static_cast<uint64_t>(node.out(op::gather::out::y).elements());
  if (op == "lstm") return recurrent_flops(node, op::lstm::x, op::lstm::w, op::lstm::r);
  if (op == "lstm_grad") return 2 * recurrent_flops(node, op::lstm_grad::x, op::lstm_grad::w, op::lstm_grad::r);
  if (op == "gru") return recurrent_flops(node, op::gru::x, op::gru::w, op::gru::r);
  if (op == "gru_grad") return 2 * recurrent_flops(node, op::gru_grad::x, op::gru_grad::w, op::gru_grad::r);
  uint64_t elements = 0;
  for (int i = 0; i < node.operands(); ++i)
    if (node.has(i)) elements = std::max(elements, static_cast<uint64_t>(node.in(i).elements()));
  for (int i = 0; i < node.results(); ++i)
    if (node.has_result(i)) elements = std::max(elements, static_cast<uint64_t>(node.out(i).elements()));
  return elements;
}

}  // namespace detail

inline Cost cost_of(const NodeView& node) {
  if (node.op() == "reshape") return {};  // another name for the same memory
  Cost cost{detail::arithmetic(node), 0};
  for (int i = 0; i < node.operands(); ++i)
    if (node.has(i)) cost.bytes += static_cast<uint64_t>(node.in(i).bytes());
  if (node.op() == "gather") {
    const int64_t untaken = node.in(op::gather::x).bytes() - node.out(op::gather::out::y).bytes();
    if (untaken > 0) cost.bytes -= static_cast<uint64_t>(untaken);
  }
  for (int i = 0; i < node.results(); ++i)
    if (node.has_result(i)) cost.bytes += static_cast<uint64_t>(node.out(i).bytes());
  return cost;
}

inline Cost cost_of(const GraphView& graph) {
  Cost cost;
  for (uint32_t i = 0; i < graph.n_nodes(); ++i) cost += cost_of(graph.node(i));
  return cost;
}

}  // namespace tenon::plugin
