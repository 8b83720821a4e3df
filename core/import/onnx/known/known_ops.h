// The host's arithmetic of known.h: one node on numbers.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "tenon/array.h"

namespace tenon::onnx {

// The node's only result of these operands; an empty type's array (f32[0] of no elements) and false where the op is none of those here.
bool compute_on_host(const Node& node, const Type& result, const std::vector<const Array*>& operands, Array* out);

}  // namespace tenon::onnx
