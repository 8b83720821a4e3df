#include "export/tensorflow/graph_writer.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace tenon::tensorflow {
namespace {

bool repeats_by_itself(const PortableNode& node, const PortableGraph& graph) {
  constexpr std::string_view kOps[] = {"add", "sub", "mul", "div", "max", "min", "pow", "atan2", "compare"};
  if (std::find(std::begin(kOps), std::end(kOps), node.op) == std::end(kOps)) return false;
  return node.op != "div" || is_float(graph.values[static_cast<size_t>(node.operands[0])].dtype);
}

// Results of broadcasts that may stay narrow: all that read them are TensorFlow's arithmetic, which repeats them beside an operand
// that has the whole shape.
class NarrowValues {
 public:
  explicit NarrowValues(const PortableGraph& graph)
      : graph_(graph), narrow_(graph.values.size()), readers_(narrow_.size()) {
    for (const PortableNode& node : graph.nodes)
      for (const int operand : node.operands)
        if (operand >= 0) readers_[static_cast<size_t>(operand)].push_back(&node);
    for (const PortableResult& result : graph.results) readers_[static_cast<size_t>(result.value)].push_back(nullptr);
    for (const PortableNode& node : graph.nodes)
      if (node.op == "broadcast") narrow_[static_cast<size_t>(node.results[0])] = may_stay(node.results[0]);
  }
  bool has(int value) const { return narrow_[static_cast<size_t>(value)]; }

 private:
  bool may_stay(int value) const {
    const auto& readers = readers_[static_cast<size_t>(value)];
    return std::all_of(readers.begin(), readers.end(),
                       [&](const PortableNode* node) { return node && has_whole_operand(*node, value); });
  }

  bool has_whole_operand(const PortableNode& node, int beside) const {
    const auto is_whole = [&](int operand) {
      const Dims& dims = graph_.values[static_cast<size_t>(operand)].dims;
      return operand != beside && !has(operand) && dims == graph_.values[static_cast<size_t>(node.results[0])].dims;
    };
    return repeats_by_itself(node, graph_) && std::any_of(node.operands.begin(), node.operands.end(), is_whole);
  }

  const PortableGraph& graph_;
  std::vector<bool> narrow_;
  std::vector<std::vector<const PortableNode*>> readers_;
};

std::vector<Ref> write_node(const PortableGraph& graph, const PortableNode& node, const std::vector<Ref>& values,
                            NodeWriter& nodes, RowNumbers& rows, const NarrowValues& narrow) {
  const NodeRule* rule = find_rule(node.op);
  if (!rule) throw Lacking{"TensorFlow's graph has no op for it"};
  NodeScribe scribe(graph, node, rule->tensorflow, values, nodes, rows);
  if (!node.results.empty()) scribe.set_narrow(narrow.has(node.results[0]));
  return rule->rule(scribe);
}

}  // namespace

std::vector<Ref> write_graph(const PortableGraph& graph, const InputRef& input, const std::string& scope,
                             NodeWriter& nodes, RowNumbers& rows, std::vector<std::string>& lacking) {
  std::vector<Ref> values(graph.values.size());
  const NarrowValues narrow(graph);
  for (const PortableInput& in : graph.inputs)
    values[static_cast<size_t>(in.value)] = input(in, graph.values[static_cast<size_t>(in.value)]);
  for (const PortableNode& node : graph.nodes) {
    nodes.set_scope(scope + node.name);
    try {
      const std::vector<Ref> results = write_node(graph, node, values, nodes, rows, narrow);
      for (size_t r = 0; r < node.results.size(); ++r)
        if (node.results[r] >= 0) values[static_cast<size_t>(node.results[r])] = results.at(r);
    } catch (const Lacking& lack) {
      lacking.push_back(cat(node.op, " '", node.name, "': ", lack.why));
    }
  }
  nodes.set_scope({});
  return values;
}

}  // namespace tenon::tensorflow
