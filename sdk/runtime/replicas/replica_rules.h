// How each op treats axis 0, along which the parts of several units lie one behind the other: which nodes can work on
// all parts at once.
#pragma once

#include <string_view>
#include <vector>

#include "tenon/plugin/graph_builder.h"

namespace tenon::plugin {

// What is known of a graph's values before it is written for several units. One entry a value.
struct ReplicaFacts {
  std::vector<bool> same;    // equal on all units
  std::vector<bool> zero;    // a constant of zeros, or one repeated
  std::vector<bool> summed;  // all that is ever read of it is its sum over all units
};
ReplicaFacts find_facts(const GraphView& graph, uint32_t units);

// Whether each unit draws numbers of its own.
bool draws(const NodeView& node);
// Whether a collective is over all units, and leaves the same everywhere.
bool joins_all(const NodeView& node, uint32_t units);
// Whether f(sum of x) is the sum of f(x) where x is operand k and the operands that differ between units go along.
bool is_linear(const NodeView& node, int k, const ReplicaFacts& facts);

// How one node does the work of all units. kJoined: of operands of n times the rows. kStacked: of operands with an axis
// more, of n, in front. kApart: not at all.
struct Merging {
  enum Form { kApart, kJoined, kStacked };
  Form form = kApart;
  uint32_t whole = 0;  // bit k: operand k is what all units have, as it is; others are joined or stacked
  uint32_t sums = 0;   // bit k: result k is the sum over all units, in one unit's shape

  bool is_whole(int operand) const { return operand < 32 && (whole >> operand & 1); }
  bool is_sum(int result) const { return result < 32 && (sums >> result & 1); }
};
// REQUIRED: some operand differs between units.
Merging merging_of(const NodeView& node, const ReplicaFacts& facts);

// Gives the builder's last node the attributes of `node` as they read in that form.
void write_attributes(GraphBuilder& builder, const NodeView& node, const Merging& merging, uint32_t units);

}  // namespace tenon::plugin
