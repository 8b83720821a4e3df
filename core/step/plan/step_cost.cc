#include "step/plan/step_cost.h"

#include <algorithm>
#include <set>

#include "compile/compile.h"

namespace tenon {
namespace {

constexpr NodeId kCaller = -1;

bool is_reshape(const Node& node) { return node.op == "reshape"; }

}  // namespace

StepCosts::StepCosts(const Graph& graph)
    : graph_(graph), numbers_(image_nodes(graph)), costs_(node_costs(flatten(graph))), readers_(graph.values.size()) {
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    for (const ValueId v : graph.nodes[n].operands)
      if (v != kAbsent && !is_reshape(graph.nodes[n]))
        readers_[static_cast<size_t>(named(v))].push_back(static_cast<NodeId>(n));
  for (const Output& result : graph.results) readers_[static_cast<size_t>(named(result.value))].push_back(kCaller);
}

ValueId StepCosts::named(ValueId value) const {
  for (;;) {
    const NodeId made_by = graph_.values[static_cast<size_t>(value)].node;
    if (made_by < 0 || !is_reshape(graph_.nodes[static_cast<size_t>(made_by)])) return value;
    value = graph_.nodes[static_cast<size_t>(made_by)].operands[0];
  }
}

uint64_t StepCosts::traffic(const std::vector<uint32_t>& nodes) const {
  std::set<NodeId> inside;
  for (const uint32_t number : nodes) inside.insert(numbers_[number]);
  std::set<ValueId> moved;
  uint64_t untaken = 0;  // of what a gather takes from
  for (const uint32_t number : nodes) {
    if (is_reshape(node(number))) continue;
    uint64_t whole = 0;
    for (const ValueId v : node(number).operands) {
      if (v == kAbsent) continue;
      whole += bytes_of(v);
      if (!inside.contains(graph_.values[static_cast<size_t>(named(v))].node)) moved.insert(named(v));
    }
    for (const ValueId v : node(number).results) {
      if (v == kAbsent) continue;
      whole += bytes_of(v);
      const auto& readers = readers_[static_cast<size_t>(v)];
      if (std::any_of(readers.begin(), readers.end(), [&](NodeId r) { return !inside.contains(r); })) moved.insert(v);
    }
    untaken += whole - std::min(whole, costs_[number].bytes);
  }
  uint64_t bytes = 0;
  for (const ValueId v : moved) bytes += bytes_of(v);
  return bytes - std::min(bytes, untaken);
}

NodeCost StepCosts::of(const std::vector<uint32_t>& nodes) const {
  if (nodes.size() == 1) return costs_[nodes[0]];
  NodeCost out;
  for (const uint32_t number : nodes) out.flops += costs_[number].flops;
  out.bytes = traffic(nodes);
  return out;
}

}  // namespace tenon
