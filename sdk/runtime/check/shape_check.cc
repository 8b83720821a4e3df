// The shape rules of the published ops, what a kernel may take for granted.
#include "runtime/check/node_check.h"
#include "runtime/check/shape_rules.h"
#include "tenon/op/table.h"

namespace tenon::plugin {
namespace {

bool is_among(std::string_view ops, std::string_view op) {
  for (size_t at = ops.find(op); at != std::string_view::npos; at = ops.find(op, at + 1))
    if (ops[at - 1] == ' ' && ops[at + op.size()] == ' ') return true;
  return false;
}

void check(const NodeView& node) {
  const op::Row* row = op::find(node.op());
  if (const int operands = row ? op::arithmetic_operands(*row) : 0) return arithmetic_rule(Asked(node), operands);
  for (const Span<ShapeRule>& family : {elementwise_rules(), contraction_rules(), network_rules(), update_rules()})
    for (const ShapeRule& rule : family)
      if (is_among(rule.ops, node.op())) return rule.check(Asked(node));
}

}  // namespace

std::string shape_fault(const NodeView& node) {
  try {
    check(node);
  } catch (const WrongShape& wrong) {
    return wrong.text;
  }
  return {};
}

}  // namespace tenon::plugin
