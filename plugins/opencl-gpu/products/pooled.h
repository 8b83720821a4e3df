// Convolutions behind which a 2 x 2 max-pool stands, as one node each, on CPU devices (tenon/plugin/pool_patterns.h): the map
// between the two, by far the largest value of such a step, and its gradient are never in memory.
#pragma once

#include "tenon/plugin/kernel.h"
#include "tenon/plugin/pool_patterns.h"

namespace opencl_gpu {

constexpr char kOwn[] = "opencl-gpu";

// Whether there are kernels for all that such a convolution may become.
bool pooled_suits(const tenon::plugin::NodeView& conv, const tenon::plugin::Env& env);

// The kernels: opencl-gpu.conv_pool, opencl-gpu.pooled_grad_input and opencl-gpu.pooled_grad_filter.
void add_pooled(tenon::plugin::KernelTable& table);

}  // namespace opencl_gpu
