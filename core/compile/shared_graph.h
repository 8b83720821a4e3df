// A step whose replicas are units of several processes (share/doc/adr/0024-several-processes.md): each process runs its share on
// its device, and what works on all replicas is done by the processes together, between the device's programs.
#pragma once

#include <memory>
#include <vector>

#include "compile/compile.h"
#include "compile/partition.h"

namespace tenon {

// Whether the graph's replicas are more than the device's own units.
bool spans_processes(const Graph& graph, const Device& device);

// compile() for such a graph. Gradients are exchanged in buckets while what is behind them is computed.
Result<Executable> compile_shared(const Graph& graph, const std::shared_ptr<Device>& device,
                                  const ProgramOptions& options, Untaken* untaken);

// The parts alone, for processes of so many units, and the whole graph as it was cut: what such a step would do, without processes.
struct SharedPlan {
  Graph graph;
  std::vector<GraphPart> parts;
};
Result<SharedPlan> plan_shared(const Graph& graph, int units);

}  // namespace tenon
