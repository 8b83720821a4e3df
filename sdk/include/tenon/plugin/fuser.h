// Finding nodes of a graph that one node of a backend's own can stand for, before the graph is planned (rewrite.h).
//
//   Rewritten rewrite(const GraphView& graph, const Env&) {
//     std::vector<std::unique_ptr<Fuser>> fusers;
//     fusers.push_back(fuse_pools(graph, "mine", suits));
//     return replace(graph, fusers);
//   }
//
// C++17.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tenon/plugin/rewrite.h"

namespace tenon::plugin {

class Fuser {
 public:
  virtual ~Fuser() = default;
  virtual bool empty() const = 0;
  virtual bool replaces(uint32_t node) const = 0;
  // Called in the order of the graph for each node that it replaces: adds what stands there instead, or nothing.
  virtual void replace(uint32_t node, Rewrite& rewrite) = 0;
};

// The graph with what they put in; empty where there is nothing. Of two that want a node the later one has it.
Rewritten replace(const GraphView& graph, const std::vector<std::unique_ptr<Fuser>>& fusers);

// `second` rewrote what `first` gave, or the given graph where that is empty: both as one.
Rewritten joined(Rewritten first, Rewritten second);

// The nodes that read each value; TENON_NONE: it is a result.
std::vector<std::vector<uint32_t>> readers_of(const GraphView& graph);
void copy_attributes(GraphBuilder& to, const NodeView& node);

// A convolution in f32 or bf16 whose map goes into a 2 x 2 max-pool alone, and its gradients:
//
//   PREFIX.conv_pool(x, w, [bias]) -> p, winner        conv or conv_bias_act (no activation or ReLU), then max_pool
//   PREFIX.pooled_grad_input(dp, w, winner) -> dx      max_pool_grad, then conv_grad_input
//   PREFIX.pooled_grad_filter(x, dp, winner) -> dw     max_pool_grad, then conv_grad_filter
//
// A byte for each pooled element says which of its window's four won, in row-major order: the first that equals the
// maximum, or the first NaN; of bf16 it may be the one before results are rounded. Attributes are those of the
// convolution. suits: whether there are kernels for one; nullptr: for all.
std::unique_ptr<Fuser> fuse_pools(const GraphView& graph, const std::string& prefix,
                                  const std::function<bool(const NodeView& conv)>& suits = nullptr);

}  // namespace tenon::plugin
