// The programs of a graph of which its device does not run all nodes: these run on cpu.so (share/doc/adr/0021-soft-placement.md).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compile/compile.h"

namespace tenon {

constexpr uint32_t kNoNode = UINT32_MAX;

struct RefusedNode {
  NodeId node;
  std::string text;  // which, and why
};

// One of the programs.
struct PlacedPart {
  bool moved = false;  // on the host: for one unit
  Executable program;
  std::vector<ValueId> takes, gives;  // what its inputs and results are in the whole graph (GraphPart)
  // By the numbers that the device knows its nodes by: those of the whole's image; kNoNode: a node that the whole does not have.
  std::vector<uint32_t> nodes;
};

struct SoftPlacement {
  std::vector<PlacedPart> parts;  // in the order in which they run
  ProgramInfo info;               // of those on the device; what `node` of its allocations is, is a node of the whole
  uint64_t out_bytes = 0, back_bytes = 0;  // that leave a unit in each step, and come back
};

// `graph` is lowered for the device, which refused those nodes with that status. What moved, and what it costs, is a line of
// the info's warnings. An error, which begins with the status, when the host refuses one of them too.
Result<std::shared_ptr<const SoftPlacement>> place_softly(const Graph& graph, const std::vector<RefusedNode>& refused,
                                                          const Status& refusal, const std::shared_ptr<Device>& device,
                                                          const ProgramOptions& options, Untaken* untaken);

}  // namespace tenon
