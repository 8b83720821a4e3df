#include "rewrite.h"

#include <string_view>

#include "fuser.h"

namespace tenon::cpu {
namespace {

template <class... Fusers>
std::vector<std::unique_ptr<Fuser>> list(Fusers... fusers) {
  std::vector<std::unique_ptr<Fuser>> all;
  (all.push_back(std::move(fusers)), ...);
  return all;
}

bool is_update(std::string_view op) {
  constexpr std::string_view kEnd = "_update";
  return op.size() > kEnd.size() && op.substr(op.size() - kEnd.size()) == kEnd;
}

}  // namespace

bool changes_between(const plugin::GraphView& graph, const std::vector<std::vector<uint32_t>>& readers,
                     const plugin::NodeView& early, const plugin::NodeView& late) {
  for (int k = 0; k < early.operands(); ++k) {
    if (!early.has(k)) continue;
    for (uint32_t r : readers[early.operand_id(k)])
      if (r > early.index() && r < late.index() && is_update(graph.node(r).op())) return true;
  }
  return false;
}

std::vector<uint32_t> makers_of(const plugin::GraphView& graph) {
  std::vector<uint32_t> makers(graph.n_values(), TENON_NONE);
  for (uint32_t i = 0; i < graph.n_nodes(); ++i)
    for (int k = 0; k < graph.node(i).results(); ++k)
      if (graph.node(i).has_result(k)) makers[graph.node(i).result_id(k)] = i;
  return makers;
}

plugin::Rewritten rewrite(const plugin::GraphView& given, const plugin::Env&) {
  // Pads first: others may take what they became part of.
  plugin::Rewritten padded = plugin::replace(given, list(fuse_pads(given), fuse_rounding(given)));
  const plugin::GraphView graph = padded.origins.empty() ? given : plugin::GraphView(*padded.graph.graph());
  std::unique_ptr<Fuser> pools = plugin::fuse_pools(graph, "cpu"), statistics = fuse_statistics(graph, *pools),
                         sums = fuse_sums(graph, *statistics);
  plugin::Rewritten fused = plugin::replace(graph, list(std::move(pools), fuse_updates(graph), fuse_norms(graph),
                                                        std::move(statistics), fuse_dropout(graph), std::move(sums)));
  return plugin::joined(std::move(padded), std::move(fused));
}

}  // namespace tenon::cpu
