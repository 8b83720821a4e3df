#include "tenon/plugin/fuser.h"

namespace tenon::plugin {

std::vector<std::vector<uint32_t>> readers_of(const GraphView& graph) {
  std::vector<std::vector<uint32_t>> readers(graph.n_values());
  for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
    const NodeView node = graph.node(i);
    for (int k = 0; k < node.operands(); ++k)
      if (node.has(k)) readers[node.operand_id(k)].push_back(i);
  }
  for (uint32_t r = 0; r < graph.n_results(); ++r) readers[graph.result(r).value].push_back(TENON_NONE);
  return readers;
}

void copy_attributes(GraphBuilder& to, const NodeView& node) {
  for (int i = 0; i < node.attributes(); ++i) to.attr(node.graph(), node.attribute(i));
}

Rewritten replace(const GraphView& graph, const std::vector<std::unique_ptr<Fuser>>& fusers) {
  bool any = false;
  for (const auto& fuser : fusers) any = any || !fuser->empty();
  if (!any) return {};
  Rewrite rewrite(graph);
  for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
    Fuser* mine = nullptr;
    for (const auto& fuser : fusers)
      if (fuser->replaces(i)) mine = fuser.get();
    if (mine)
      mine->replace(i, rewrite);
    else
      rewrite.copy(graph.node(i));
  }
  return rewrite.finish();
}

Rewritten joined(Rewritten first, Rewritten second) {
  if (second.origins.empty()) return first;
  if (!first.origins.empty())
    for (uint32_t& node : second.origins) node = first.origins[node];
  return second;
}

}  // namespace tenon::plugin
