// Before planning: maps that follow each other become one kernel, an own node "opencl-gpu.chain", and with the reduce
// that folds what they make "opencl-gpu.fold" (reductions.h). Broadcasts and slices that only such kernels read are not stored.
#pragma once

#include "tenon/plugin/graph_rewrite.h"
#include "tenon/plugin/kernel.h"

namespace opencl_gpu {

// As a device's shape asks for. Empty where nothing follows anything.
tenon::plugin::Rewritten fuse_chains_for(const tenon::plugin::GraphView& graph, const tenon::plugin::Env& env);

// The same; they are read by index where `run` elements or more lie side by side.
tenon::plugin::Rewritten fuse_chains(const tenon::plugin::GraphView& graph, int64_t run);

// The kernels of such nodes.
void add_chains(tenon::plugin::KernelTable& table);

}  // namespace opencl_gpu
