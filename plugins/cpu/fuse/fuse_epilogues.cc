// What stands behind a convolution or a product of matrices, a residual and an activation, as nodes of their own in many
// models, as the epilogue that the node in front of them has.
#include "fuse/patterns.h"
#include "tenon/op/names.h"

namespace tenon::cpu {
namespace {

// conv_bias_act and dot_bias_act have these in the same places, dot_bias_act by the names a and b.
using epilogue = op::conv_bias_act;

bool is_bare_dot(const NodeView& node) {
  const bool bare = node.op() == "dot" || (node.op() == "dot_bias_act" && node.enumerator("act") == TENON_ACT_NONE &&
                                           !node.has(op::dot_bias_act::residual));
  return bare && node.in(op::dot_bias_act::a).rank() == 2 && node.in(op::dot_bias_act::b).rank() == 2;
}

// An exponential of every element is quicker over the whole result than tile by tile.
bool suits_tiles(int32_t act) {
  return act == TENON_ACT_RELU || act == TENON_ACT_RELU6 || act == TENON_ACT_LEAKY_RELU ||
         act == TENON_ACT_HARD_SIGMOID || act == TENON_ACT_HARD_SWISH;
}

struct Sums {
  NodeView node;                     // without an epilogue but a bias
  std::optional<NodeView> sum = {};  // which adds what is at `residual` of its operands
  int residual = 0;
  std::optional<NodeView> reshape = {};  // between a product of matrices and its activation
};

// What makes the value, if `reader` alone reads it.
std::optional<NodeView> bare_maker(const Matching& m, uint32_t value, const NodeView& reader) {
  const std::optional<NodeView> node = m.sole_maker(value, reader);
  const bool bare = node && (is_bare_conv(*node) || is_bare_dot(*node));
  return bare && is_f32(*node) && !m.changes_between(*node, reader) ? node : std::nullopt;
}

// A convolution in front of the sum; where both operands are, the later one takes the other as its residual.
std::optional<Sums> summed(const Matching& m, const NodeView& sum) {
  if (sum.operand_id(op::add::a) == sum.operand_id(op::add::b)) return {};
  std::optional<Sums> found;
  for (int k = 0; k < 2; ++k) {
    if (sum.in(k).elements() != sum.out(0).elements()) return {};
    const std::optional<NodeView> conv = bare_maker(m, sum.operand_id(k), sum);
    if (!conv || !is_bare_conv(*conv)) continue;
    if (!found || conv->index() > found->node.index()) found = Sums{*conv, sum, 1 - k};
  }
  return found;
}

// The node with the epilogue, whose activation is none where nothing activates.
void add_whole(const Sums& s, const NodeView& last, Rewrite& to) {
  const bool conv = is_bare_conv(s.node), activates = last.op() == "activation";
  std::vector<uint32_t> operands{to.operand(s.node, epilogue::x), to.operand(s.node, epilogue::w),
                                 to.operand(s.node, epilogue::bias)};
  if (s.sum) operands.push_back(to.operand(*s.sum, s.residual));
  plugin::GraphBuilder& whole = to.add(conv ? "conv_bias_act" : "dot_bias_act", operands, {to.result(last, 0)}, s.node);
  for (int i = 0; i < s.node.attributes(); ++i)
    if (const std::string_view name = s.node.attribute_name(i); name != "act" && name != "alpha")
      whole.attr(s.node.graph(), s.node.attribute(i));
  whole.attr_enum("act", activates ? last.enumerator("act") : TENON_ACT_NONE);
  whole.attr_f64("alpha", activates ? last.f64("alpha") : 0);
}

Match whole_match(const Sums& s, const NodeView& last) {
  // Where the last one stood: the residual may have been computed after the sums.
  Match match({s.node.index(), last.index()}, last.index(), [=](Rewrite& to) { add_whole(s, last, to); });
  if (s.sum && s.sum->index() != last.index()) match.nodes.push_back(s.sum->index());
  if (s.reshape) match.nodes.push_back(s.reshape->index());
  return match;
}

}  // namespace

std::optional<Match> activated_sums(const Matching& m, const NodeView& activation) {
  const uint32_t z = activation.operand_id(op::activation::x);
  const bool for_convs = suits_tiles(activation.enumerator("act"));
  if (const std::optional<NodeView> node = bare_maker(m, z, activation))
    return for_convs || is_bare_dot(*node) ? std::optional<Match>(whole_match({*node}, activation)) : std::nullopt;
  const std::optional<NodeView> sum = m.sole_maker(z, activation);
  if (!sum || !is_f32(*sum)) return {};
  if (sum->op() == "reshape") {
    const std::optional<NodeView> dot = bare_maker(m, sum->operand_id(op::reshape::x), *sum);
    const bool fits = dot && is_bare_dot(*dot) && activation.out(0).rank() > 0 &&
                      activation.out(0).dim(-1) == dot->out(0).dim(-1) && !m.changes_between(*dot, activation);
    return fits ? std::optional<Match>(whole_match({*dot, {}, 0, *sum}, activation)) : std::nullopt;
  }
  if (sum->op() != "add" || !for_convs) return {};
  const std::optional<Sums> s = summed(m, *sum);
  if (!s || m.changes_between(*sum, activation)) return {};
  return whole_match(*s, activation);
}

std::optional<Match> conv_with_residual(const Matching& m, const NodeView& sum) {
  if (!is_f32(sum)) return {};
  const std::optional<Sums> s = summed(m, sum);
  return s ? std::optional<Match>(whole_match(*s, sum)) : std::nullopt;
}

}  // namespace tenon::cpu
