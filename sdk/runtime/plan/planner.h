// Turns a graph into a plan: kernels in order, a place for every value, barriers where they are needed.
#pragma once

#include <string>

#include "runtime/plan/plan.h"
#include "tenon/plugin/entry.h"

namespace tenon::plugin {

struct NoKernel : Error {
  explicit NoKernel(const std::string& text) : Error(TENON_UNSUPPORTED, text) {}
};

// What the table says to a node. Refuses nodes with attributes that are neither their op's nor hints.
Verdict answer_of(const NodeView& node, const KernelTable& table);

// Throws NoKernel, with the node's name, when the table has none for its op.
Plan make_plan(const GraphView& graph, const KernelTable& table, const Env& env);

}  // namespace tenon::plugin
