// The programs of a graph that was cut (compile/partition.h), and what is known of them together.
#pragma once

#include <memory>
#include <vector>

#include "compile/compile.h"
#include "compile/partition.h"

namespace tenon {

constexpr uint32_t kNoNode = UINT32_MAX;

struct PlacedPart {
  PartKind kind = PartKind::kDevice;
  Executable program;                 // of an exchange the graph alone
  std::vector<ValueId> takes, gives;  // what its inputs and results are in the whole graph (GraphPart)
  // By the numbers that the device knows its nodes by: those of the whole's image; kNoNode: a node that the whole does not have.
  std::vector<uint32_t> nodes = {};
};

struct PartedProgram {
  std::vector<PlacedPart> parts;  // in the order in which they run
  ProgramInfo info;               // of those on the device; what `node` of its allocations is, is a node of the whole
  uint64_t out_bytes = 0, back_bytes = 0;  // that leave a unit for the host's parts in each step, and come back
};

// Compiles a part of `whole` for its device, and puts it behind those that are there. `untaken` as of compile().
Status add_part(PartedProgram& program, GraphPart part, const Graph& whole, const std::shared_ptr<Device>& device,
                const ProgramOptions& options, Untaken* untaken);

}  // namespace tenon
