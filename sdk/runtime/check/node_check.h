// Whether a node is what its op says: its operands, results and attributes are there, and fit together.
#pragma once

#include <string>

#include "tenon/plugin/graph.h"

namespace tenon::plugin {

// What is wrong with a node of a published op, version 1, in one line; empty when there is nothing, and for other nodes.
// REQUIRED: the graph's structure is right (graph_check.h).
std::string node_fault(const NodeView& node);

// The same of shapes and of what attributes say of them, where operands, results and attributes are those of the
// signature.
std::string shape_fault(const NodeView& node);

}  // namespace tenon::plugin
