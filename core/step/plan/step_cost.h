// What the steps of a plan cost at least.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/node_cost.h"
#include "graph/graph.h"

namespace tenon {

// What several nodes cost that are done together: all of their arithmetic; of memory what they read of others, each
// value once, and what others read of them or is a result. A reshape is another name for its operand.
class StepCosts {
 public:
  explicit StepCosts(const Graph& graph);
  // `nodes`: as a device numbers them.
  NodeCost of(const std::vector<uint32_t>& nodes) const;

 private:
  const Node& node(uint32_t number) const { return graph_.nodes[static_cast<size_t>(numbers_[number])]; }
  uint64_t bytes_of(ValueId value) const { return static_cast<uint64_t>(graph_.type(value).bytes()); }
  ValueId named(ValueId value) const;  // behind reshapes
  uint64_t traffic(const std::vector<uint32_t>& nodes) const;

  const Graph& graph_;
  std::vector<NodeId> numbers_;
  std::vector<NodeCost> costs_;
  std::vector<std::vector<NodeId>> readers_;  // of each value, under whatever name; -1: it is a result
};

}  // namespace tenon
