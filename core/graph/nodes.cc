#include "graph/nodes.h"

#include <set>

#include "base/strings.h"

namespace tenon {
namespace {

class NodeNames {
 public:
  // A name that no other has.
  std::string take(const std::string& wanted) {
    std::string name = wanted;
    for (int n = 1; !taken_.insert(name).second; ++n) name = cat(wanted, "_", n);
    return name;
  }

 private:
  std::set<std::string> taken_;
};

const char* op_of(Role role) { return role == Role::kState ? "VariableV2" : "Placeholder"; }

}  // namespace

std::vector<GraphNode> graph_nodes(const Graph& graph) {
  NodeNames names;
  std::vector<std::string> of_value(graph.values.size());
  std::vector<GraphNode> out;
  for (const GraphInput& input : graph.inputs) {
    out.push_back({names.take(input.name), op_of(input.role), {}, {graph.type(input.value)}});
    of_value[static_cast<size_t>(input.value)] = out.back().name;
  }
  for (const Node& node : graph.nodes) {
    GraphNode shown{names.take(node.name), node.op};
    for (const ValueId operand : node.operands)
      if (operand != kAbsent) shown.inputs.push_back(of_value[static_cast<size_t>(operand)]);
    for (size_t i = 0; i < node.results.size(); ++i) {
      const ValueId result = node.results[i];
      shown.results.push_back(graph.type(result));
      of_value[static_cast<size_t>(result)] = i == 0 ? shown.name : cat(shown.name, ":", i);
    }
    out.push_back(std::move(shown));
  }
  return out;
}

}  // namespace tenon
