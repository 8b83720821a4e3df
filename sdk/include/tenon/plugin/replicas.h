// The work of several units in one graph: how a device of n units runs on memory that it has once.
//
// A graph of the ABI is written for one unit; n units run it together, each on its rows of what is SPLIT, with equal
// copies of what is REPLICATED. unroll_replicas writes that out. What is equal on all units is computed once. What an
// op makes row by row is computed once too, for the rows of all units: SPLIT inputs have the global shapes that their
// buffers have. What units only make in order to add it up, gradients for the most part, becomes one sum over all
// rows. The rest is written n times, on slices. Collectives become what they mean: joins and sums of the parts, in
// the order of the units where there are parts. What is drawn by chance is drawn for all units at once, so that a
// batch draws what one device would draw.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/plugin/graph_builder.h"

namespace tenon::plugin {

struct UnrolledGraph {
  // Where a node comes from: the node of the given graph, and the unit that it works for; the first where it works for
  // all.
  struct Origin {
    uint32_t node, unit;
  };
  FlatGraph graph;
  std::vector<Origin> origins;
};

struct UnrollOptions {
  bool merge = true;  // false: everything that differs between units n times, by which merging can be checked
  // For which nodes of a graph the backend has kernels, if it is known: of shapes for which it has none, parts are
  // written.
  std::function<std::vector<bool>(const GraphView&)> takes = nullptr;
};

// REQUIRED: units >= 1; every node is one that a device of several units takes (unrolls). Throws std::runtime_error,
// naming the node, where a collective asks for replicas that are not there.
UnrolledGraph unroll_replicas(const GraphView& graph, uint32_t units, const UnrollOptions& options = {});

// Why a device of so many units cannot do the collective: its groups are no equal shares of the units, or it is for
// another number of replicas than a group has. Empty for what it can do, and for other nodes.
std::string replicas_refusal(const NodeView& node, uint32_t units);

// A collective, or replica_id: with several units unroll_replicas writes sums, joins and numbers in its place, so that
// no kernel is asked for it.
bool asks_replicas(std::string_view op);

// Whether unroll_replicas can write the node for several units; a composite that it cannot is to be decomposed.
bool unrolls(const NodeView& node);

}  // namespace tenon::plugin
