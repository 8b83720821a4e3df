#include <string_view>

#include "fuser.h"

namespace tenon::cpu {
namespace {

bool is_update(std::string_view op) {
  constexpr std::string_view kEnd = "_update";
  return op.size() > kEnd.size() && op.substr(op.size() - kEnd.size()) == kEnd;
}

}  // namespace

Uses::Uses(const plugin::GraphView& graph)
    : graph_(graph), readers_(readers_of(graph)), makers_(graph.n_values(), TENON_NONE) {
  for (uint32_t i = 0; i < graph.n_nodes(); ++i)
    for (int k = 0; k < graph.node(i).results(); ++k)
      if (graph.node(i).has_result(k)) makers_[graph.node(i).result_id(k)] = i;
}

uint32_t Uses::before_reshape(uint32_t value) const {
  const uint32_t node = maker(value);
  return node != TENON_NONE && graph_.node(node).op() == "reshape" ? graph_.node(node).operand_id(0) : value;
}

bool Uses::changes_between(const plugin::NodeView& early, const plugin::NodeView& late) const {
  for (int k = 0; k < early.operands(); ++k) {
    if (!early.has(k)) continue;
    for (uint32_t r : readers(early.operand_id(k)))
      if (r > early.index() && r < late.index() && is_update(graph_.node(r).op())) return true;
  }
  return false;
}

}  // namespace tenon::cpu
