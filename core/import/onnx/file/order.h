// Nodes in an order in which each uses what is there.
#pragma once

#include <set>
#include <string>

#include "import/onnx/file/onnx_model_file.h"

namespace tenon::onnx {

// Sorts the nodes where they are not sorted yet, in linear time. kInvalid: a value has two origins or none, or nodes wait for one another.
Status put_in_order(GraphData& graph);
Status put_in_order(FunctionData& function);

// What a node uses: its inputs, and what its bodies use of the graph around them.
std::set<std::string> used_by(const NodeData& node);

}  // namespace tenon::onnx
