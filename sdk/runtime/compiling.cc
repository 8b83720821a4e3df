#include "runtime/compiling.h"

#include <algorithm>
#include <utility>

#include "tenon/plugin/op_attributes.h"

namespace tenon::plugin {

PreparedGraph::PreparedGraph(const tenon_graph& graph, const KernelTable& table, uint32_t units, Rewriter rewrite,
                             const Env& env)
    : view_(graph) {
  for (uint32_t i = 0; i < view_.n_nodes(); ++i) {
    const NodeView node = view_.node(i);
    const Entry* entry = table.find(node.op(), node.version());
    if (entry && entry->own) throw NoKernel(std::string(node.op()) + ": no kernel for this op");
    origins_.push_back({i, 0});
  }
  if (units > 1) unroll(table, units);
  cost_ = cost_of(view_);
  if (rewrite) rewritten_ = rewrite(view_, env);
  if (rewritten_.graph.empty()) return;
  Origins through;
  for (const uint32_t origin : rewritten_.origins) through.push_back(origins_[origin]);
  origins_ = std::move(through);
  view_ = GraphView(*rewritten_.graph.graph());
}

void PreparedGraph::unroll(const KernelTable& table, uint32_t units) {
  const auto takes = [&](const GraphView& graph) {
    std::vector<bool> taken;
    for (uint32_t i = 0; i < graph.n_nodes(); ++i)
      taken.push_back(answer_of(graph.node(i), table).answer == TENON_TAKE);
    return taken;
  };
  unrolled_ = unroll_replicas(view_, units, {true, takes});
  origins_ = unrolled_.origins;
  view_ = GraphView(*unrolled_.graph.graph());
}

std::vector<tenon_allocation> allocations_of(const Plan& plan, const PreparedGraph::Origins& origins) {
  std::vector<tenon_allocation> out;
  // What is alive to the end is so after the last node.
  const auto given = [&](uint32_t node) { return origins[std::min<size_t>(node, origins.size() - 1)].node; };
  for (const Allocation& a : plan.allocations) {
    const auto [first, last] = std::minmax({given(a.first), given(a.last)});
    out.push_back({given(a.node), 0, a.bytes, a.bytes, a.offset, first, last});
  }
  return out;
}

void give_info(const Plan& plan, const Cost& cost, const std::vector<tenon_allocation>& allocations, uint64_t capacity,
               tenon_info* info) {
  if (!info) return;
  tenon_info full{};
  full.flags = info->flags;
  full.argument_bytes = plan.argument_bytes;
  full.result_bytes = plan.results_bytes;
  full.workspace_bytes = plan.arena_bytes;
  full.code_bytes = plan.constants.size();
  full.peak_bytes = plan.argument_bytes + plan.results_bytes + plan.arena_bytes + plan.constants.size();
  full.capacity_bytes = capacity;
  full.flops = cost.flops;
  full.bytes_moved = cost.bytes;
  full.allocations = allocations.data();
  full.allocation_stride = sizeof(tenon_allocation);
  full.n_allocations = static_cast<uint32_t>(allocations.size());
  give(full, info);
}

}  // namespace tenon::plugin
