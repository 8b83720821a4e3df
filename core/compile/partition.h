// A graph cut into parts where some of its nodes run elsewhere: on another device (share/doc/adr/0021-soft-placement.md), or
// between processes (share/doc/adr/0024-several-processes.md).
#pragma once

#include <vector>

#include "graph/graph.h"

namespace tenon {

enum class PartKind : uint8_t {
  kDevice,    // on all of its units here
  kHost,      // on cpu.so, for one unit at a time
  kExchange,  // by the processes together
};

// Nodes of one place as a graph of their own. States, feeds and scalars of the whole are its inputs by their names; so is
// what another part gives, as a state of the name NODE:RESULT. An exchange takes all that it has from other parts. Constants are
// copied into each part.
struct GraphPart {
  PartKind kind = PartKind::kDevice;
  Graph graph;
  std::vector<ValueId> takes;  // what each of its inputs is in the whole
  std::vector<ValueId> gives;  // what each of its results is in the whole: each value once, beside updates in place
};

// Which nodes of a graph are elsewhere.
struct Cut {
  std::vector<bool> moved;            // of each node
  PartKind to = PartKind::kHost;      // where they are
  int units = 0;                      // that run the device's parts; 0: as many as the graph has replicas
  std::vector<NodeId> begins = {};    // nodes, rising: what is not moved, from each of them on, is in a later part
};

// The fewest parts, in the order in which they run, kinds in turn. A part on the device runs on its units: what differs
// between replicas is split in its inputs and results, and a scalar then has the shape [1]
// there. Parts on the host are graphs of one unit. Results of the whole are results of the part that has them. A state is updated
// in place by a part of the device, if no later one reads the state; else its next value is a result like others.
// An error where a node that moves to the host draws other numbers on each of several units, or works on all of them.
// REQUIRED: some node moved.
Result<std::vector<GraphPart>> partition(const Graph& graph, const Cut& cut);

}  // namespace tenon
