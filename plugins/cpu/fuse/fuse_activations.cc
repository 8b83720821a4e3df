// A batch norm and what activates its result, layers of their own in many models, as the one norm that has an activation; and
// so their gradients.
#include "fuse/patterns.h"
#include "tenon/op/names.h"

namespace tenon::cpu {
namespace {

// Which a norm's loops know, and whose gradient follows from the result.
bool is_clip(const NodeView& activation) {
  const int32_t act = activation.enumerator("act");
  return act == TENON_ACT_RELU || act == TENON_ACT_RELU6;
}

// The node with another activation; `operands` and `results` are its own, but for what changed.
void add_activated(const NodeView& norm, std::vector<uint32_t> operands, std::vector<uint32_t> results,
                   const NodeView& activation, Rewrite& to) {
  plugin::GraphBuilder& node = to.add(norm.op(), operands, results, norm, norm.version());
  for (int i = 0; i < norm.attributes(); ++i)
    if (const std::string_view name = norm.attribute_name(i); name != "act" && name != "alpha")
      node.attr(norm.graph(), norm.attribute(i));
  node.attr_enum("act", activation.enumerator("act"));
}

std::vector<uint32_t> operands_of(const NodeView& node, Rewrite& to) {
  std::vector<uint32_t> ids;
  for (int k = 0; k < node.operands(); ++k) ids.push_back(to.operand(node, k));
  return ids;
}

std::vector<uint32_t> results_of(const NodeView& node, Rewrite& to) {
  std::vector<uint32_t> ids;
  for (int k = 0; k < node.results(); ++k) ids.push_back(to.result(node, k));
  return ids;
}

bool is_normed(const NodeView& norm) {
  return (norm.op() == "batch_norm" || norm.op() == "batch_norm_apply") && norm.enumerator("act") == TENON_ACT_NONE;
}

}  // namespace

std::optional<Match> activated_norm(const Matching& m, const NodeView& activation) {
  const uint32_t z = activation.operand_id(op::activation::x);
  const std::optional<NodeView> norm = m.sole_maker(z, activation);
  if (!norm || !is_normed(*norm) || norm->result_id(0) != z) return {};
  const bool has_alpha =
      activation.enumerator("act") == TENON_ACT_LEAKY_RELU || activation.enumerator("act") == TENON_ACT_ELU;
  if (norm->op() == "batch_norm" ? !is_clip(activation) : has_alpha) return {};
  // Where the norm stood: others read its moments.
  return Match({norm->index(), activation.index()}, norm->index(), [=](Rewrite& to) {
    std::vector<uint32_t> results = results_of(*norm, to);
    results[0] = to.result(activation, 0);
    add_activated(*norm, operands_of(*norm, to), results, activation, to);
  });
}

std::optional<Match> activated_norm_grad(const Matching& m, const NodeView& norm) {
  using grad = op::batch_norm_grad;
  if (norm.enumerator("act") != TENON_ACT_NONE || norm.has(grad::y)) return {};
  const std::optional<NodeView> activation = m.sole_maker(norm.operand_id(grad::dy), norm);
  if (!activation || activation->op() != "activation_grad" || !is_clip(*activation)) return {};
  const plugin::ValueView y = activation->in(op::activation_grad::t);
  if (y.dtype() != norm.in(grad::x).dtype() || m.changes_between(*activation, norm)) return {};
  return Match({activation->index(), norm.index()}, norm.index(), [=](Rewrite& to) {
    std::vector<uint32_t> operands = operands_of(norm, to);
    operands.resize(grad::y + 1, TENON_NONE);
    operands[grad::dy] = to.operand(*activation, op::activation_grad::g);
    operands[grad::y] = to.operand(*activation, op::activation_grad::t);
    add_activated(norm, operands, results_of(norm, to), *activation, to);
  });
}

}  // namespace tenon::cpu
