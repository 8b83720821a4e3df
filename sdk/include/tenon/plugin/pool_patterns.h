// A convolution in f32 or bf16 whose map goes into a 2 x 2 max-pool alone, and its gradients: three nodes of a
// backend's own, by which the map and its gradient are never in memory. Part of the static runtime. C++17.
//
//   PREFIX.conv_pool(x, w, [bias]) -> p, winner        conv or conv_bias_act (no activation or ReLU), then max_pool
//   PREFIX.pooled_grad_input(dp, w, winner) -> dx      max_pool_grad, then conv_grad_input
//   PREFIX.pooled_grad_filter(x, dp, winner) -> dw     max_pool_grad, then conv_grad_filter
//
// A byte for each pooled element says which of its window's four won, in row-major order: the first that equals the
// maximum, or the first NaN; of bf16 it may be the one before results are rounded. Attributes are those of the
// convolution.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tenon/plugin/matcher.h"

namespace tenon::plugin {

// suits: whether there are kernels for a convolution; nullptr: for all.
std::vector<Pattern> pool_patterns(const std::string& prefix,
                                   const std::function<bool(const NodeView& conv)>& suits = nullptr);

}  // namespace tenon::plugin
