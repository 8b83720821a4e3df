#include "op/decompose.h"

#include <new>

#include "base/strings.h"
#include "op/custom_node.h"

namespace tenon {

Tensors decompose_node(Graph& graph, const Node& node, const Tensors& operands) {
  const Stamp stamp(graph);
  graph.phase = node.phase;
  graph.forward_of = node.forward_of;
  graph.origin = node.origin;
  graph.composite_of = node.op;
  graph.set_scope(node.name);
  Tensors results = [&] {
    try {
      if (node.custom) return decompose_custom(graph, node, operands);
      return find_op(node.op, node.version)->decompose(Decompose(graph, node.attrs, operands, {}));
    } catch (const std::bad_alloc&) {  // a table of constants for each place of what is enormous
      fail(describe(node), ": no memory for the constants of its decomposition");
    }
  }();
  if (results.size() != node.results.size())
    fail(describe(node), ": decomposes to ", results.size(), " results, expected ", node.results.size());
  return results;
}

Tensors emit_decomposed(Graph& graph, Node node, const std::vector<Type>& types, const std::string& name) {
  node.name = graph.unique_name(name);
  node.phase = graph.phase;
  node.forward_of = graph.forward_of;
  node.origin = graph.origin.empty() ? node.name : graph.origin;
  node.results.resize(types.size());
  Tensors operands;
  for (ValueId id : node.operands) operands.push_back(id < 0 ? Tensor() : Tensor(&graph, id));
  return decompose_node(graph, node, operands);
}

}  // namespace tenon
