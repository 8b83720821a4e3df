// Dynamic dimensions of a graph that is being built (graph/bounds.h): which results of a node have them, and the masks where
// a node would look behind their end.
//
// What lies behind the end of a dynamic dimension is undefined, and no element that is defined depends on it. So a rule of
// each op says where a dimension goes: kept, as by elementwise ops; or folded, and then what is behind its end becomes
// the neutral element first. What has no rule is refused, or is a composite and built as its primitives.
#pragma once

#include "op/op.h"
#include "tenon/ops.h"

namespace tenon {

// Given to a rule. It masks operands, and says what the results' dimensions are: static where it says nothing.
class BoundedNode : public AttrReader {
 public:
  BoundedNode(Graph& graph, Node& node, const std::vector<Type>& types);

  int operands() const { return static_cast<int>(node_.operands.size()); }
  bool has(int i) const { return i < operands() && node_.operands[static_cast<size_t>(i)] >= 0; }
  Tensor in(int i) const { return Tensor(&graph_, node_.operands[static_cast<size_t>(i)]); }
  const Shape& shape(int i) const { return in(i).shape(); }
  int rank(int i) const { return shape(i).rank(); }
  Bounds bounds(int i) const { return graph_.bounds(in(i).id()); }
  // Negative axes count from the end.
  AxisBounds axis(int i, int axis) const;
  bool is_dynamic(int i, int axis) const { return tenon::is_dynamic(this->axis(i, axis)); }
  Ints dynamic_axes(int i) const;
  const Type& type(int result) const { return types_[static_cast<size_t>(result)]; }

  // What is behind the ends of the axes becomes `neutral`; static axes stay as they are.
  void mask(int i, const Ints& axes, double neutral);
  void replace(int i, Tensor x);

  struct Place {
    int operand, axis;
  };
  // The bounds of an axis that these operands share; an operand that is absent or has one element there does not count.
  AxisBounds common(std::initializer_list<Place> places) const;
  // The axis, of which `so_far` is said already.
  AxisBounds met(const AxisBounds& so_far, Place place) const;
  // The bounds of an elementwise result, which operands of its shape share.
  Bounds together(int result) const;
  // As one of the operands.
  void expect_static(int i, int axis, std::string_view why) const;
  [[noreturn]] void refuse(int i, int axis, std::string_view why) const;
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    ::tenon::fail(describe(node_), ": ", parts...);
  }

  void result(int r, Bounds bounds) { results_[static_cast<size_t>(r)] = std::move(bounds); }
  // The result is the value after steps whose number is dynamic: nobody may use it.
  void result_undefined(int r) { undefined_ = r; }
  void decompose() { decompose_ = true; }
  // The node is not added: these are its results.
  void instead(Tensors results) { instead_ = std::move(results); }

  // What the rule said.
  const std::vector<Bounds>& results() const { return results_; }
  int undefined() const { return undefined_; }
  bool decomposes() const { return decompose_; }
  const Tensors& instead() const { return instead_; }

 private:
  // To be elements of that dynamic axis.
  void expect_no_input(const AxisBounds& fixed, const AxisBounds& dynamic) const;

  Graph& graph_;
  Node& node_;
  const std::vector<Type>& types_;
  std::vector<Bounds> results_;
  int undefined_ = -1;
  bool decompose_ = false;
  Tensors instead_;
};

// nullptr: none.
using BoundRule = void (*)(BoundedNode&);
BoundRule bound_rule(std::string_view op);

// Whether an operand has dynamic dimensions.
bool has_dynamic_operand(const Graph& graph, const Node& node);
// The results' bounds for a node without dynamic operands: where axes of inputs that are of one size go.
std::vector<Bounds> fixed_bounds(Graph& graph, Node& node, const std::vector<Type>& types);
// Adds a node that has them, under `name`; the node's own is for messages. Its results.
Tensors emit_bounded(Graph& graph, Node node, const std::vector<Type>& types, const std::string& name);

// x with `neutral` behind the ends of its dynamic dimensions among the axes.
Tensor masked(Tensor x, const Ints& axes, double neutral);
// x with these dimensions.
Tensor with_bounds(Tensor x, Bounds bounds);
// A gradient of `of`, which has its dimensions: 0 where it is of elements that are there and the gradient is not.
Tensor gradient_of(Tensor g, Tensor of);
// `times` / the number of elements of x along the axes, a rank-0 float of like's dtype.
Tensor inverse_count(Tensor x, const Ints& axes, Tensor like, double times = 1);
// The number of elements of x, an f32 scalar.
Tensor element_count(Tensor x);

}  // namespace tenon
