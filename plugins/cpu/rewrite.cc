#include "rewrite.h"

#include "fuser.h"

namespace tenon::cpu {
namespace {

template <class... Fusers>
std::vector<std::unique_ptr<Fuser>> list(Fusers... fusers) {
  std::vector<std::unique_ptr<Fuser>> all;
  (all.push_back(std::move(fusers)), ...);
  return all;
}

}  // namespace

plugin::Rewritten rewrite(const plugin::GraphView& given, const plugin::Env&) {
  // Pads first: others may take what they became part of.
  plugin::Rewritten padded = plugin::replace(given, list(fuse_pads(given), fuse_rounding(given), fuse_casts(given)));
  const plugin::GraphView graph = padded.origins.empty() ? given : plugin::GraphView(*padded.graph.graph());
  std::unique_ptr<Fuser> pools = plugin::fuse_pools(graph, "cpu"), statistics = fuse_statistics(graph, *pools),
                         sums = fuse_sums(graph, *statistics);
  plugin::Rewritten fused = plugin::replace(graph, list(std::move(pools), fuse_updates(graph), fuse_norms(graph),
                                                        std::move(statistics), fuse_dropout(graph), std::move(sums)));
  return plugin::joined(std::move(padded), std::move(fused));
}

}  // namespace tenon::cpu
