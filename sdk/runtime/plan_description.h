// What compile decided, for `describe`: made once, from a plan and the graph that it is of, and kept by the program.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "runtime/prepared_graph.h"

namespace tenon::plugin {

class PlanDescription {
 public:
  PlanDescription() = default;
  PlanDescription(const PreparedGraph& graph, const Plan& plan);
  PlanDescription(PlanDescription&&) = default;
  PlanDescription& operator=(PlanDescription&&) = default;

  // For tenon_info: the workspace's buffers, by nodes of the given graph.
  const std::vector<tenon_allocation>& allocations() const { return allocations_; }
  void give(tenon_plan* out) const;

 private:
  class Maker;

  std::set<std::string> texts_;  // that steps point to
  std::vector<tenon_plan_step> steps_;
  std::vector<tenon_plan_buffer> buffers_;
  std::vector<tenon_plan_value> values_;
  std::vector<uint32_t> nodes_;
  std::vector<tenon_allocation> allocations_;
};

}  // namespace tenon::plugin
