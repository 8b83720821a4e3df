// Adds up the events of a trace, node by node.
#pragma once

#include <map>
#include <vector>

#include "backend/device.h"
#include "graph/graph.h"
#include "tenon/step_runner.h"

namespace tenon {

class NodeTimes : public TraceSink {
 public:
  // first_unit_alone: where units run side by side, on clocks of their own, and each does the same.
  explicit NodeTimes(bool first_unit_alone = false) : first_unit_alone_(first_unit_alone) {}
  // The events of a node, one a thread, come one after the other: the longest counts.
  void emit(const TraceEvent& event) override;
  // Per step, in the order in which nodes ran first. `graph` is the one that was compiled.
  std::vector<NodeTime> means(const Graph& graph, int steps);

 private:
  struct Sum {
    std::string name;
    double ps = 0, flops = 0, bytes = 0;
  };
  void add_longest();

  bool first_unit_alone_;
  std::vector<Sum> sums_;
  std::map<std::string, size_t, std::less<>> index_;  // in sums_, by name
  size_t current_ = 0;
  uint64_t longest_ = 0;
};

}  // namespace tenon
