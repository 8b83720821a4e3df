#include "rewrite.h"

#include "fuser.h"

namespace tenon::cpu {

std::vector<std::vector<uint32_t>> readers_of(const plugin::GraphView& graph) {
  std::vector<std::vector<uint32_t>> readers(graph.n_values());
  for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
    const plugin::NodeView node = graph.node(i);
    for (int k = 0; k < node.operands(); ++k)
      if (node.has(k)) readers[node.operand_id(k)].push_back(i);
  }
  for (uint32_t r = 0; r < graph.n_results(); ++r) readers[graph.result(r).value].push_back(TENON_NONE);
  return readers;
}

void copy_attributes(plugin::GraphBuilder& to, const plugin::NodeView& node) {
  for (int i = 0; i < node.attributes(); ++i) to.attr(node.graph(), node.attribute(i));
}

namespace {

plugin::Rewritten replace(const plugin::GraphView& graph, const std::vector<std::unique_ptr<Fuser>>& fusers) {
  bool any = false;
  for (const auto& fuser : fusers) any = any || !fuser->empty();
  if (!any) return {};
  plugin::Rewrite rewrite(graph);
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

template <class... Fusers>
std::vector<std::unique_ptr<Fuser>> list(Fusers... fusers) {
  std::vector<std::unique_ptr<Fuser>> all;
  (all.push_back(std::move(fusers)), ...);
  return all;
}

}  // namespace

plugin::Rewritten rewrite(const plugin::GraphView& given, const plugin::Env&) {
  // Pads first: others may take what they became part of.
  plugin::Rewritten padded = replace(given, list(fuse_pads(given), fuse_rounding(given)));
  const bool any = !padded.origins.empty();
  const plugin::GraphView graph = any ? plugin::GraphView(*padded.graph.graph()) : given;
  std::unique_ptr<Fuser> pools = fuse_pools(graph), statistics = fuse_statistics(graph, *pools);
  plugin::Rewritten out =
      replace(graph, list(std::move(pools), fuse_updates(graph), fuse_norms(graph), std::move(statistics)));
  if (out.origins.empty()) return padded;
  if (any)
    for (uint32_t& node : out.origins) node = padded.origins[node];
  return out;
}

}  // namespace tenon::cpu
