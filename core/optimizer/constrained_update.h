#pragma once

#include "graph/graph.h"

namespace tenon {

// What an update makes of a variable, kept to its constraint where it has one. Throws Error when that gives another type.
Tensor constrained(const Graph& graph, int variable, Tensor next);

}  // namespace tenon
