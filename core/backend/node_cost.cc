#include "backend/node_cost.h"

#include "tenon/plugin/cost.h"

namespace tenon {

std::vector<NodeCost> node_costs(const GraphImage& image) {
  const plugin::GraphView graph(*image.flat());
  std::vector<NodeCost> out;
  for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
    const plugin::Cost cost = plugin::cost_of(graph.node(i));
    out.push_back({cost.flops, cost.bytes});
  }
  return out;
}

}  // namespace tenon
