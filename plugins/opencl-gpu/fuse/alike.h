// Whether two nodes compute the same, but for their operands.
#pragma once

#include "tenon/plugin/graph.h"

namespace opencl_gpu {

// Attributes are equal; "tenon.*" are hints and do not count.
bool same_attributes(const tenon::plugin::NodeView& a, const tenon::plugin::NodeView& b);

}  // namespace opencl_gpu
