#include "runtime/prepared_graph.h"

#include <set>
#include <utility>

#include "tenon/plugin/op_attributes.h"

namespace tenon::plugin {

PreparedGraph::PreparedGraph(const tenon_graph& graph, const KernelTable& table, Units units, Rewriter rewrite,
                             const Env& env)
    : given_(graph), spread_(graph), view_(graph) {
  for (uint32_t i = 0; i < view_.n_nodes(); ++i) origins_.push_back({i, 0});
  if (units.count > 1) unroll(table, units);
  cost_ = cost_of(view_);
  spread_ = view_;
  spread_origins_ = origins_;
  if (rewrite) rewritten_ = rewrite(view_, env);
  if (!is_rewritten()) return;
  Origins through;
  for (const uint32_t origin : rewritten_.origins) through.push_back(origins_[origin]);
  origins_ = std::move(through);
  view_ = GraphView(*rewritten_.graph.graph());
}

void PreparedGraph::unroll(const KernelTable& table, Units units) {
  const auto takes = [&](const GraphView& graph) {
    std::vector<bool> taken;
    for (uint32_t i = 0; i < graph.n_nodes(); ++i)
      taken.push_back(answer_of(graph.node(i), table).answer == TENON_TAKE);
    return taken;
  };
  unrolled_ = unroll_replicas(view_, units.count, {units.united, takes});
  origins_ = unrolled_.origins;
  view_ = GraphView(*unrolled_.graph.graph());
}

std::vector<PreparedGraph::Origins> PreparedGraph::done_nodes(const std::vector<Step>& steps) const {
  std::vector<bool> is_step(view_.n_nodes());  // a node that only views what others made is none
  for (const Step& step : steps)
    if (step.node != TENON_NONE) is_step[step.node] = true;
  std::vector<Origins> out(view_.n_nodes());
  std::set<std::pair<uint32_t, uint32_t>> seen;
  // What is written for a node in front of it and behind it counts where the node itself is not among what is written.
  for (const bool itself : {true, false})
    for (uint32_t i = 0; i < spread_.n_nodes(); ++i) {
      const uint32_t by = is_rewritten() ? rewritten_.done_by[i] : i;
      if (by == TENON_NONE || !(itself ? is_given_op(i) : is_step[by])) continue;
      const UnrolledGraph::Origin& origin = spread_origins_[i];
      if (seen.insert({origin.node, origin.unit}).second) out[by].push_back(origin);
    }
  return out;
}

std::vector<PreparedGraph::NodeResult> PreparedGraph::node_results() const {
  std::vector<NodeResult> spread(spread_.n_values(), {{TENON_NONE, 0}, TENON_NONE});
  for (uint32_t i = 0; i < spread_.n_nodes(); ++i)
    for (int k = 0; k < spread_.node(i).results(); ++k)
      if (spread_.node(i).has_result(k))
        spread[spread_.node(i).result_id(k)] = {spread_origins_[i],
                                                is_given_op(i) ? static_cast<uint32_t>(k) : TENON_NONE};
  if (!is_rewritten()) return spread;
  std::vector<NodeResult> out;
  for (const uint32_t value : rewritten_.values)
    out.push_back(value == TENON_NONE ? NodeResult{{TENON_NONE, 0}, TENON_NONE} : spread[value]);
  return out;
}

}  // namespace tenon::plugin
