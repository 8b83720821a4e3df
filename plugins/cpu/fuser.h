// Finds nodes of a graph that one node of cpu.so's own can stand for (rewrite.h has the list).
#pragma once

#include "tenon/plugin/fuser.h"

namespace tenon::cpu {

using plugin::copy_attributes;
using plugin::Fuser;
using plugin::readers_of;

std::unique_ptr<Fuser> fuse_updates(const plugin::GraphView& graph);
// Leaves what `others` replaces.
std::unique_ptr<Fuser> fuse_statistics(const plugin::GraphView& graph, const Fuser& others);
std::unique_ptr<Fuser> fuse_pads(const plugin::GraphView& graph);
std::unique_ptr<Fuser> fuse_rounding(const plugin::GraphView& graph);
std::unique_ptr<Fuser> fuse_norms(const plugin::GraphView& graph);

}  // namespace tenon::cpu
