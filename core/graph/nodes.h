// A graph as it is shown.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "tenon/graph_node.h"

namespace tenon {

// Inputs first: what is fed is a Placeholder, a variable a VariableV2, as TensorFlow calls them; then the nodes, in order.
std::vector<GraphNode> graph_nodes(const Graph& graph);

}  // namespace tenon
