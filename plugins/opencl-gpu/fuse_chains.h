// Before planning: maps that follow each other become one kernel, an own node "opencl-gpu.chain".
#pragma once

#include "tenon/plugin/kernel.h"
#include "tenon/plugin/rewrite.h"

namespace opencl_gpu {

// Empty where nothing follows anything.
tenon::plugin::Rewritten fuse_chains(const tenon::plugin::GraphView& graph, const tenon::plugin::Env& env);

// The kernels of such nodes.
void add_chains(tenon::plugin::KernelTable& table);

}  // namespace opencl_gpu
