#include "export/narrow_values.h"

#include <algorithm>
#include <iterator>

#include "tenon/op/table.h"

namespace tenon {
namespace {

bool repeats_by_itself(const PortableNode& node, const PortableGraph& graph) {
  if (!op::repeats_operands(node.op) || node.op == "select") return false;
  return node.op != "div" || is_float(graph.values[static_cast<size_t>(node.operands[0])].dtype);
}

}  // namespace

NarrowValues::NarrowValues(const PortableGraph& graph)
    : graph_(graph), narrow_(graph.values.size()), readers_(narrow_.size()) {
  for (const PortableNode& node : graph.nodes)
    for (const int operand : node.operands)
      if (operand >= 0) readers_[static_cast<size_t>(operand)].push_back(&node);
  for (const PortableResult& result : graph.results) readers_[static_cast<size_t>(result.value)].push_back(nullptr);
  for (const PortableNode& node : graph.nodes)
    if (node.op == "broadcast") narrow_[static_cast<size_t>(node.results[0])] = may_stay(node.results[0]);
}

bool NarrowValues::may_stay(int value) const {
  const auto& readers = readers_[static_cast<size_t>(value)];
  return std::all_of(readers.begin(), readers.end(),
                     [&](const PortableNode* node) { return node && has_whole_operand(*node, value); });
}

bool NarrowValues::has_whole_operand(const PortableNode& node, int beside) const {
  const auto is_whole = [&](int operand) {
    const std::vector<PerRows>& dims = graph_.values[static_cast<size_t>(operand)].dims;
    return operand != beside && !has(operand) && dims == graph_.values[static_cast<size_t>(node.results[0])].dims;
  };
  return repeats_by_itself(node, graph_) && std::any_of(node.operands.begin(), node.operands.end(), is_whole);
}

}  // namespace tenon
