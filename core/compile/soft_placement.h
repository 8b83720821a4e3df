// The programs of a graph of which its device does not run all nodes: these run on cpu.so (share/doc/adr/0021-soft-placement.md).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compile/parted_program.h"

namespace tenon {

struct RefusedNode {
  NodeId node;
  std::string text;  // which, and why
};

// `graph` is lowered for the device, which refused those nodes with that status. What moved, and what it costs, is a line of
// the info's warnings. An error, which begins with the status, when the host refuses one of them too.
Result<std::shared_ptr<const PartedProgram>> place_softly(const Graph& graph, const std::vector<RefusedNode>& refused,
                                                          const Status& refusal, const std::shared_ptr<Device>& device,
                                                          const ProgramOptions& options, Untaken* untaken);

}  // namespace tenon
