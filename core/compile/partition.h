// A graph cut into parts where some of its nodes run on another device (share/doc/adr/0021-soft-placement.md).
#pragma once

#include <vector>

#include "graph/graph.h"

namespace tenon {

// Nodes of one device as a graph of their own. States, feeds and scalars of the whole are its inputs by their names; so is
// what another part gives, as a state of the name NODE:RESULT. Constants are copied into each part.
struct GraphPart {
  bool moved = false;
  Graph graph;
  std::vector<ValueId> takes;  // what each of its inputs is in the whole
  std::vector<ValueId> gives;  // what each of its results is in the whole: each value once, beside updates in place
};

// The fewest parts, in the order in which they run; `moved` says for each node whether it does. A part that did not move
// runs on all units: what differs between units is split in its inputs and results, and a scalar then has the shape [1]
// there. Moved parts are graphs of one unit. Results of the whole are results of the part that has them. A state is updated
// in place by a part that did not move, if no later one reads the state; else its next value is a result like others.
// An error where a moved node draws other numbers on each of several units, or works on all of them. REQUIRED: some node moved.
Result<std::vector<GraphPart>> partition(const Graph& graph, const std::vector<bool>& moved);

}  // namespace tenon
