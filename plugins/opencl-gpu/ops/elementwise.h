// Maps, y[i] = f(a[i], b[i], ..), as OpenCL C: one node, or a chain of them that becomes one kernel.
#pragma once

#include <string>
#include <vector>

#include "device/launch.h"

namespace opencl_gpu {

// The ops that have an expression.
bool is_elementwise(std::string_view op);

// f of a node, by the names of its operands, in what its result is computed with.
std::string expression(const NodeView& node, const std::vector<std::string>& operands);

// "const W_f32 NAME = ..;" with the rounding that the node's dtype asks for.
std::string statement(const NodeView& node, const std::string& name, const std::vector<std::string>& operands);

// A kernel that runs `body` for each element, as sources.h says.
Kernel map_kernel(Driver& driver, const NodeView& node, const std::string& body);

}  // namespace opencl_gpu
