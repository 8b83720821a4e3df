#include "step/exchange_groups.h"

#include <algorithm>
#include <map>

#include "op/op.h"

namespace tenon {
namespace {

using Work = ExchangeGroup::Work;

// What a node of the part does; `varies`: its first operand differs between replicas.
ExchangeGroup like(const Node& node, const Graph& part, size_t units, bool varies) {
  const AttrReader attrs(node.attrs);
  ExchangeGroup out;
  out.dtype = part.type(node.operands[0]).dtype;
  if (node.op == "all_reduce") {
    out.kind = static_cast<ReduceKind>(attrs.enumerator("kind"));
    return out;
  }
  out.axis = static_cast<int>(attrs.i64("axis"));
  const bool rows = out.axis == 0 && (units == 1 || varies);  // each unit's own lie one behind the other
  out.work = node.op == "reduce_scatter" ? Work::kDeal : rows ? Work::kJoin : Work::kGather;
  return out;
}

// That of the same work which is there, or a new one.
ExchangeGroup& group_for(std::vector<ExchangeGroup>& groups, const ExchangeGroup& like) {
  for (ExchangeGroup& g : groups)
    if (g.work == like.work && g.kind == like.kind && g.dtype == like.dtype && g.axis == like.axis) return g;
  return groups.emplace_back(like);
}

}  // namespace

Result<std::vector<ExchangeGroup>> exchange_groups(const Graph& part, const std::vector<ValueId>& takes,
                                                   const std::vector<ValueId>& gives, size_t units,
                                                   const std::vector<bool>& varying) {
  std::vector<ValueId> whole(part.values.size(), kAbsent);  // what the part's values are in the whole
  for (size_t i = 0; i < takes.size(); ++i) whole[part.inputs[i].value] = takes[i];
  for (size_t r = 0; r < gives.size(); ++r) whole[part.results[r].value] = gives[r];
  std::vector<ExchangeGroup> out;
  for (const Node& node : part.nodes) {
    ExchangeGroup& group = group_for(out, like(node, part, units, varying[whole[node.operands[0]]]));
    for (size_t k = 0; k < node.operands.size(); ++k) {
      if (whole[node.results[k]] == kAbsent) continue;  // nobody reads it
      if (part.type(node.operands[k]).dtype != group.dtype)
        return invalid(describe(node), " has operands of several dtypes, expected one between processes");
      group.from.push_back(whole[node.operands[k]]);
      group.to.push_back(whole[node.results[k]]);
    }
  }
  return out;
}

std::vector<int> awaited_exchanges(const std::vector<TakenAndGiven>& parts) {
  std::map<ValueId, int> maker;
  for (size_t p = 0; p < parts.size(); ++p)
    if (parts[p].kind == PartKind::kExchange)
      for (const ValueId v : *parts[p].gives) maker[v] = static_cast<int>(p);
  std::vector<int> out(parts.size(), -1);
  for (size_t p = 0; p < parts.size(); ++p)
    for (const ValueId v : *parts[p].takes)
      if (const auto at = maker.find(v); at != maker.end()) out[p] = std::max(out[p], at->second);
  return out;
}

}  // namespace tenon
