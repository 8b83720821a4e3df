// How one node becomes TensorFlow's nodes: a rule an op, which asks its NodeScribe for operands and attributes and writes through it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export/node_reader.h"
#include "export/tensorflow/graph_def.h"
#include "export/tensorflow/row_numbers.h"
#include "tenon/ops.h"

namespace tenon::tensorflow {

// One node, with the tensors that its operands are. Methods that write nodes put them under its name. All may throw Lacking.
class NodeScribe : public NodeReader {
 public:
  NodeScribe(const PortableGraph& graph, const PortableNode& node, std::string_view op, const std::vector<Ref>& values,
             NodeWriter& nodes, RowNumbers& rows)
      : NodeReader(graph, node), op_(op), values_(values), nodes_(nodes), rows_(rows) {}

  std::string_view op() const { return op_; }  // TensorFlow's, which the table of rules has beside this rule
  NodeWriter& nodes() { return nodes_; }
  // Whether all that read a broadcast repeat it by themselves.
  bool is_narrow() const { return narrow_; }
  void set_narrow(bool narrow) { narrow_ = narrow; }

  using NodeReader::number;
  Ref in(int i) const { return values_[static_cast<size_t>(node().operands[static_cast<size_t>(i)])]; }

  Ref numbers(const Dims& dims) { return rows_.list(dims); }
  Ref number(const PerRows& number) { return rows_.number(number); }
  Ref scalar(DType dtype, double value) { return nodes_.scalar(dtype, value); }

  Ref write(std::string_view op, const std::vector<Ref>& inputs, Fields fields = {}) {
    return nodes_.add(op, inputs, std::move(fields));
  }
  // With attribute T.
  Ref typed(std::string_view op, DType dtype, const std::vector<Ref>& inputs, Fields fields = {});
  Ref cast(const Ref& x, DType from, DType to);  // to a wider type, or rounded
  Ref reshape(const Ref& x, DType dtype, const Dims& dims);
  Ref broadcast(const Ref& x, DType dtype, const Dims& dims);
  Ref transpose(const Ref& x, DType dtype, const Ints& perm);
  // Elements start, start + stride .. below limit; `all` is x's dims.
  Ref slice(const Ref& x, DType dtype, const Dims& all, const Dims& start, const Dims& limit, const Ints& stride = {});
  // Pads, of which negative ones cut; `interior` may be empty. *all is x's dims before and the result's behind.
  Ref pad(const Ref& x, DType dtype, Dims* all, const Dims& low, const Dims& high, const Ints& interior, double value);

  Ref wide_in(int i) { return cast(in(i), dtype(i), wide(dtype(i))); }
  std::vector<Ref> narrow(const Ref& x, DType from) { return {cast(x, from, result().dtype)}; }

 private:
  Ref spread(Ref x, DType dtype, Dims* all, const Ints& interior, double value);
  Ref grow(const Ref& x, DType dtype, Dims* all, const Dims& pads, double value);

  std::string_view op_;
  const std::vector<Ref>& values_;
  NodeWriter& nodes_;
  RowNumbers& rows_;
  bool narrow_ = false;
};

// Its results.
using Rule = std::vector<Ref> (*)(NodeScribe& n);

struct NodeRule {
  std::string_view op;
  Rule rule;
  std::string_view tensorflow = {};  // what the rule's NodeScribe::op() is
};

// nullptr where there is none.
const NodeRule* find_rule(std::string_view op);
// Whether a composite is written as it is, rather than what it is made of.
bool writes_whole(const PortableNode& node);

// The tables, a family each.
std::span<const NodeRule> elementwise_rules();
std::span<const NodeRule> movement_rules();
std::span<const NodeRule> index_rules();
std::span<const NodeRule> reduction_rules();
std::span<const NodeRule> product_rules();
std::span<const NodeRule> network_rules();

// act(x), of the wide type.
Ref activated(NodeScribe& n, const Ref& x, DType dtype, Activation act, double alpha);
// act(z + bias + residual) of the node's attributes, rounded to its result's type. z is of type `dtype`.
std::vector<Ref> epilogue(NodeScribe& n, Ref z, DType dtype, int bias, int residual);

}  // namespace tenon::tensorflow
