// Finds nodes of a graph that one node of cpu.so's own can stand for (rewrite.h has the list).
#pragma once

#include "tenon/plugin/fuser.h"

namespace tenon::cpu {

using plugin::copy_attributes;
using plugin::Fuser;
using plugin::readers_of;

std::unique_ptr<Fuser> fuse_updates(const plugin::GraphView& graph);
// These two leave what `others` replaces.
std::unique_ptr<Fuser> fuse_statistics(const plugin::GraphView& graph, const Fuser& others);
std::unique_ptr<Fuser> fuse_sums(const plugin::GraphView& graph, const Fuser& others);
std::unique_ptr<Fuser> fuse_pads(const plugin::GraphView& graph);
std::unique_ptr<Fuser> fuse_rounding(const plugin::GraphView& graph);
std::unique_ptr<Fuser> fuse_norms(const plugin::GraphView& graph);
std::unique_ptr<Fuser> fuse_dropout(const plugin::GraphView& graph);

// Whether a variable that `early` reads is updated before `late` is computed: what stands there instead of both would keep
// the planner from updating in place.
bool changes_between(const plugin::GraphView& graph, const std::vector<std::vector<uint32_t>>& readers,
                     const plugin::NodeView& early, const plugin::NodeView& late);
// Of each value, the node that makes it, or TENON_NONE.
std::vector<uint32_t> makers_of(const plugin::GraphView& graph);

}  // namespace tenon::cpu
