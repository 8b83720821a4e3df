#include "train/profile/node_times.h"

#include <algorithm>

namespace tenon {

void NodeTimes::emit(const TraceEvent& event) {
  if (first_unit_alone_ && event.unit != 0) return;
  if (event.lane == 0) {
    add_longest();
    const auto [at, fresh] = index_.try_emplace(event.name, sums_.size());
    if (fresh) sums_.push_back({event.name, 0, 0, 0});
    current_ = at->second;
  }
  if (sums_.empty()) return;
  longest_ = std::max(longest_, event.duration_ps);
  sums_[current_].flops += static_cast<double>(event.flops);
  sums_[current_].bytes += static_cast<double>(event.bytes);
}

void NodeTimes::add_longest() {
  if (!sums_.empty()) sums_[current_].ps += static_cast<double>(longest_);
  longest_ = 0;
}

std::vector<NodeTime> NodeTimes::means(const Graph& graph, int steps) {
  add_longest();
  std::map<std::string_view, const Node*> nodes;
  for (const Node& node : graph.nodes) nodes[node.name] = &node;
  std::vector<NodeTime> out;
  for (const Sum& sum : sums_) {
    const auto at = nodes.find(sum.name);
    const Node* const node = at == nodes.end() ? nullptr : at->second;
    out.push_back({sum.name, node ? node->op : "-", sum.ps * 1e-9 / steps, sum.flops / steps, sum.bytes / steps,
                   node && node->phase == Phase::kBackward});
  }
  return out;
}

}  // namespace tenon
