// Finds nodes of a graph that one node of cpu.so's own can stand for (rewrite.h has the list).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tenon/plugin/rewrite.h"

namespace tenon::cpu {

class Fuser {
 public:
  virtual ~Fuser() = default;
  virtual bool empty() const = 0;
  virtual bool replaces(uint32_t node) const = 0;
  // Called in the order of the graph for each node that it replaces: adds what stands there instead, or nothing.
  virtual void replace(uint32_t node, plugin::Rewrite& rewrite) = 0;
};

std::unique_ptr<Fuser> fuse_pools(const plugin::GraphView& graph);
std::unique_ptr<Fuser> fuse_updates(const plugin::GraphView& graph);
// Leaves what `others` replaces.
std::unique_ptr<Fuser> fuse_statistics(const plugin::GraphView& graph, const Fuser& others);
std::unique_ptr<Fuser> fuse_pads(const plugin::GraphView& graph);
std::unique_ptr<Fuser> fuse_rounding(const plugin::GraphView& graph);
std::unique_ptr<Fuser> fuse_norms(const plugin::GraphView& graph);

// The nodes that read each value; TENON_NONE: it is a result.
std::vector<std::vector<uint32_t>> readers_of(const plugin::GraphView& graph);
void copy_attributes(plugin::GraphBuilder& to, const plugin::NodeView& node);

}  // namespace tenon::cpu
