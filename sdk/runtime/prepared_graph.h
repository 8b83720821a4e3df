// What `compile` makes of a graph before it is planned.
#pragma once

#include <vector>

#include "runtime/plan/planner.h"
#include "tenon/plugin/cost.h"
#include "tenon/plugin/graph_rewrite.h"
#include "tenon/plugin/replicas.h"

namespace tenon::plugin {

// With several units, and where the backend has nodes of its own, not the graph itself is planned.
class PreparedGraph {
 public:
  using Origins = std::vector<UnrolledGraph::Origin>;
  using Rewriter = Rewritten (*)(const GraphView& graph, const Env& env);

  struct Units {
    uint32_t count;
    bool united;  // HostBackend::unites_units
  };
  // `rewrite` may be NULL.
  PreparedGraph(const tenon_graph& graph, const KernelTable& table, Units units, Rewriter rewrite, const Env& env);
  PreparedGraph(const PreparedGraph&) = delete;
  PreparedGraph& operator=(const PreparedGraph&) = delete;

  const GraphView& given() const { return given_; }
  const GraphView& view() const { return view_; }
  const Origins& origins() const { return origins_; }  // of the view's nodes, in the given graph
  const Cost& cost() const { return cost_; }           // of the given graph, on all units

  // For each of the view's nodes those of the given graph that it does; each of them is done once on a unit, by a step
  // of the plan where it has one.
  std::vector<Origins> done_nodes(const std::vector<Step>& steps) const;
  struct NodeResult {
    UnrolledGraph::Origin node;
    uint32_t result;  // TENON_NONE: what the given graph does not have
  };
  // For each of the view's values that a node makes, whose it is in the given graph.
  std::vector<NodeResult> node_results() const;

 private:
  void unroll(const KernelTable& table, Units units);
  bool is_given_op(uint32_t node) const {
    return spread_.node(node).op() == given_.node(spread_origins_[node].node).op();
  }
  bool is_rewritten() const { return !rewritten_.graph.empty(); }

  UnrolledGraph unrolled_;
  Rewritten rewritten_;
  GraphView given_, spread_, view_;  // as it came; for all units; with the backend's own nodes
  Origins origins_, spread_origins_;
  Cost cost_;
};

}  // namespace tenon::plugin
