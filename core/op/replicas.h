// Values over the replicas: the units that run one graph, each on its part of the batch (Graph::replicas).
#pragma once

#include <vector>

#include "graph/graph.h"
#include "tenon/ops.h"

namespace tenon {

// The same on every replica, in replica order; the operand itself where there is one replica.
Tensor over_replicas(Tensor x, ReduceKind kind);
// One exchange for all. Of floats.
Tensors sums_over_replicas(const Tensors& xs);
Tensors means_over_replicas(const Tensors& xs);
Tensor mean_over_replicas(Tensor x);

// Whether each replica draws numbers of its own in it, or has its number from it.
bool draws_per_replica(const Node& node);

// For each value, whether it may differ between replicas: it depends on a split input, on numbers that each replica
// draws for itself, or on the replica's number, with no exchange between all replicas in between.
std::vector<bool> varying_values(const Graph& graph);

// The type of an input or result over all replicas: axis 0 of what is split holds their parts end to end.
Type joined_type(const Graph& graph, ValueId value, bool split);

}  // namespace tenon
