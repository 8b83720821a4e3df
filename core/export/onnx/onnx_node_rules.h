// How one node becomes ONNX's nodes: a rule an op, which asks its NodeScribe for operands and attributes and writes through it.
//
// Images lie [N, S.., C] here and [N, C, S..] there. A value is written in one order or both; what is written with channels in front
// stays so through all that works element by element, and is turned where a node needs the other order.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export/node_reader.h"
#include "export/onnx/graph_proto.h"
#include "export/onnx/onnx_row_numbers.h"
#include "tenon/ops.h"

namespace tenon::onnx::out {

// A value as far as it is written. One that is a weight has its name, as it may be written turned.
struct Written {
  Ref ours = {}, first = {};  // in the order of the graph; with the last axis behind axis 0
  std::string weight = {};

  bool only_first() const { return ours.empty() && !first.empty(); }
};

// Turns a weight's elements; what a node's weights are initializers by.
class WeightWriter {
 public:
  virtual ~WeightWriter() = default;
  // The weight with its axes in this order, an initializer.
  virtual Ref turned(const std::string& weight, const Ints& perm) = 0;
};

Ints identity(size_t rank);
Ints first_order(size_t rank);  // the perm that brings channels to the front
Ints last_order(size_t rank);   // and back

// One node, with the tensors that its operands are. Methods that write nodes put them under its name. All may throw Lacking.
class NodeScribe : public NodeReader {
 public:
  NodeScribe(const PortableGraph& graph, const PortableNode& node, std::string_view op, std::vector<Written>& values,
             NodeWriter& nodes, RowNumbers& rows, WeightWriter& weights)
      : NodeReader(graph, node), op_(op), values_(values), nodes_(nodes), rows_(rows), weights_(weights) {}

  std::string_view op() const { return op_; }  // ONNX's, which the table of rules has beside this rule
  NodeWriter& nodes() { return nodes_; }
  // Whether all that read a broadcast repeat it by themselves.
  bool is_narrow() const { return narrow_; }
  void set_narrow(bool narrow) { narrow_ = narrow; }

  using NodeReader::number;
  bool only_first(int i) const { return has(i) && value(i).only_first(); }
  Ref in(int i);
  Ref first_in(int i);
  Ref turned_in(int i, const Ints& perm);  // a weight is written so, other values are transposed

  Ref numbers(const Dims& dims) { return rows_.list(dims); }
  Ref scalar(DType dtype, double value) { return nodes_.scalar(dtype, value); }

  Ref write(std::string_view op, const std::vector<Ref>& inputs, Fields fields = {}) {
    return nodes_.add(op, inputs, std::move(fields));
  }
  Ref cast(const Ref& x, DType from, DType to);  // to a wider type, or rounded
  Ref reshape(const Ref& x, const Dims& dims);
  Ref transpose(const Ref& x, const Ints& perm);
  // Elements start, start + stride .. below limit; `all` is x's dims.
  Ref slice(const Ref& x, const Dims& all, const Dims& start, const Dims& limit, const Ints& stride);

  Ref wide_in(int i) { return cast(in(i), dtype(i), wide(dtype(i))); }
  Ref wide_first_in(int i) { return cast(first_in(i), dtype(i), wide(dtype(i))); }
  // The one result, which is of type `from`, rounded.
  std::vector<Written> narrow(const Ref& x, DType from) { return {{cast(x, from, result().dtype)}}; }
  std::vector<Written> narrow_first(const Ref& x, DType from) { return {{{}, cast(x, from, result().dtype)}}; }
  std::vector<Written> narrow_as(bool first, const Ref& x, DType from) {
    return first ? narrow_first(x, from) : narrow(x, from);
  }

 private:
  const Written& value(int i) const { return values_[static_cast<size_t>(node().operands[static_cast<size_t>(i)])]; }
  Written& value(int i) { return values_[static_cast<size_t>(node().operands[static_cast<size_t>(i)])]; }

  std::string_view op_;
  std::vector<Written>& values_;
  NodeWriter& nodes_;
  RowNumbers& rows_;
  WeightWriter& weights_;
  bool narrow_ = false;
};

// Its results.
using Rule = std::vector<Written> (*)(NodeScribe& n);

struct NodeRule {
  std::string_view op;
  Rule rule;
  std::string_view onnx = {};  // what the rule's NodeScribe::op() is
};

// nullptr where there is none; of a composite then what it is made of is written.
const NodeRule* find_rule(std::string_view op);
// The tables, a family each.
std::span<const NodeRule> elementwise_rules();
std::span<const NodeRule> movement_rules();
std::span<const NodeRule> index_rules();
std::span<const NodeRule> reduction_rules();
std::span<const NodeRule> network_rules();

// Element by element: op(operands), in the order that the operands are in.
struct Elements {
  bool first = false;
  std::vector<Ref> in;  // wide
};
Elements elements_of(NodeScribe& n);

// act(x), of the wide type.
Ref activated(NodeScribe& n, const Ref& x, DType dtype, Activation act, double alpha);
// act(z + bias + residual) of the node's attributes, rounded to its result's type. z is of type `dtype`, in either order; a bias that
// z has already is -1.
std::vector<Written> epilogue(NodeScribe& n, bool first, Ref z, DType dtype, int bias, int residual);

}  // namespace tenon::onnx::out
