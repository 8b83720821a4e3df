// What `compile` does for every kind of backend, before its plan is made and after.
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/planner.h"
#include "tenon/plugin/cost.h"
#include "tenon/plugin/entry.h"
#include "tenon/plugin/replicas.h"
#include "tenon/plugin/rewrite.h"

namespace tenon::plugin {

// What is planned for a graph: with several units, and where the backend has nodes of its own, not the graph itself.
class PreparedGraph {
 public:
  using Origins = std::vector<UnrolledGraph::Origin>;
  using Rewriter = Rewritten (*)(const GraphView& graph, const Env& env);

  // `rewrite` may be NULL. Throws NoKernel for a node that is a backend's own: no host may ask for it.
  PreparedGraph(const tenon_graph& graph, const KernelTable& table, uint32_t units, Rewriter rewrite, const Env& env);
  PreparedGraph(const PreparedGraph&) = delete;
  PreparedGraph& operator=(const PreparedGraph&) = delete;

  const GraphView& given() const { return given_; }
  const GraphView& view() const { return view_; }
  const Origins& origins() const { return origins_; }  // of the view's nodes, in the given graph
  const Cost& cost() const { return cost_; }           // of the given graph, on all units

  // Of each of the view's nodes, those of the given graph that it does; each of them is done once on a unit.
  std::vector<Origins> done_nodes() const;
  struct NodeResult {
    UnrolledGraph::Origin node;
    uint32_t result;  // TENON_NONE: what the given graph does not have
  };
  // Of each of the view's values that a node makes, whose it is in the given graph.
  std::vector<NodeResult> node_results() const;

 private:
  void unroll(const KernelTable& table, uint32_t units);
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

// Fills `info`, unless it is NULL. `allocations` is pointed to.
void give_info(const Plan& plan, const Cost& cost, const std::vector<tenon_allocation>& allocations, uint64_t capacity,
               tenon_info* info);

// reserve(bytes) says whether there is room for a step, or throws. Throws OUT_OF_MEMORY where there is none, or it is
// above the limit (0: none); `info` then points to nothing.
template <class Reserve>
void reserve_workspace(uint64_t bytes, uint64_t limit, tenon_info* info, Reserve reserve) {
  try {
    const bool over = limit && bytes > limit;
    if (over || !reserve(bytes))
      throw Error(TENON_OUT_OF_MEMORY, "compile: the step needs a workspace of " + std::to_string(bytes) + " bytes; " +
                                           (over ? "more than the limit" : "out of memory"));
  } catch (const Error&) {
    if (info && TENON_HAS(info, tenon_info, n_allocations)) info->allocations = nullptr, info->n_allocations = 0;
    throw;
  }
}

}  // namespace tenon::plugin
