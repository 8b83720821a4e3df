// A batch norm and what activates its result, layers of their own in many models, as the one norm that has an activation; and
// so their gradients.
#include "fuse/patterns.h"
#include "own_nodes.h"
#include "tenon/op/names.h"

namespace tenon::cpu {
namespace {

// Which a norm's loops know, and whose gradient follows from the result.
bool is_clip(const NodeView& activation) {
  const int32_t act = activation.enumerator("act");
  return act == TENON_ACT_RELU || act == TENON_ACT_RELU6;
}

// The node with another activation, which is none where `activation` is none; `operands` and `results` are its own, but for what changed.
void add_activated(const NodeView& norm, std::string_view op, const std::vector<uint32_t>& operands,
                   const std::vector<uint32_t>& results, const NodeView& activation, Rewrite& to) {
  plugin::GraphBuilder& node = to.add(op, operands, results, norm, norm.version());
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

// What SiLU and others behind a norm are in training: their gradient needs their argument, which the norm's gradient can
// compute of what it reads anyway.
struct Swished {
  NodeView norm, activation, slope, grad;
};

// The two readers of the argument: the activation and its gradient.
std::optional<NodeView> slope_of(const Matching& m, const NodeView& activation) {
  const uint32_t z = activation.operand_id(op::activation::x);
  const std::vector<uint32_t>& readers = m.readers(z);
  if (readers.size() != 2) return {};
  for (const uint32_t r : readers) {
    if (r == TENON_NONE || r == activation.index() || !m.is_free(r)) continue;
    const NodeView node = m.graph().node(r);
    const bool same = node.op() == "activation_grad" && node.operand_id(op::activation_grad::t) == z &&
                      node.enumerator("act") == activation.enumerator("act");
    if (same) return node;
  }
  return {};
}

// Whether `grad` is the gradient of `norm`, which has neither activation nor residual.
bool is_gradient_of(const NodeView& grad, const NodeView& norm) {
  using to = op::batch_norm_grad;
  using from = op::batch_norm;
  if (grad.op() != "batch_norm_grad" || grad.has(to::y) || grad.has_result(to::out::dresidual)) return false;
  const bool plain = grad.enumerator("act") == TENON_ACT_NONE && grad.i64("group", 1) == 1;
  return plain && grad.operand_id(to::x) == norm.operand_id(from::x) &&
         grad.operand_id(to::gamma) == norm.operand_id(from::gamma) &&
         grad.operand_id(to::mean) == norm.result_id(from::out::mean) &&
         grad.operand_id(to::var) == norm.result_id(from::out::var) && grad.f64("eps", 1e-3) == norm.f64("eps", 1e-3);
}

std::optional<Swished> find_swished(const Matching& m, const NodeView& activation) {
  const int32_t act = activation.enumerator("act");
  const std::optional<NodeView> norm = m.maker(activation.operand_id(op::activation::x));
  if (act < TENON_ACT_GELU || act > TENON_ACT_HARD_SWISH || !norm || norm->op() != "batch_norm") return {};
  const bool plain = norm->enumerator("act") == TENON_ACT_NONE && norm->i64("group", 1) == 1;
  if (!plain || !is_f32(*norm) || norm->has(op::batch_norm::residual) || !m.is_free(norm->index())) return {};
  if (norm->result_id(0) != activation.operand_id(op::activation::x)) return {};
  const std::optional<NodeView> slope = slope_of(m, activation);
  if (!slope || slope->operand_id(op::activation_grad::g) == norm->result_id(0)) return {};
  const std::optional<NodeView> grad = m.only_reader(slope->result_id(0));
  const bool fits = grad && m.is_free(grad->index()) && is_gradient_of(*grad, *norm) && is_f32(*grad) &&
                    grad->operand_id(op::batch_norm_grad::dy) == slope->result_id(0);
  if (!fits || m.changes_between(*norm, *grad) || m.changes_between(*slope, *grad)) return {};
  return Swished{*norm, activation, *slope, *grad};
}

bool is_normed(const NodeView& norm) {
  return (norm.op() == "batch_norm" || norm.op() == "batch_norm_apply") && norm.enumerator("act") == TENON_ACT_NONE;
}

int residual_of(const NodeView& norm) {
  return norm.op() == "batch_norm" ? int{op::batch_norm::residual} : int{op::batch_norm_apply::residual};
}

// A norm, and what is added to its result.
struct SummedNorm {
  NodeView norm;
  std::optional<NodeView> sum;
  int residual = 0;  // operand of the sum
};

// The norm whose result is the value, which `reader` alone reads.
std::optional<NodeView> norm_of(const Matching& m, uint32_t value, const NodeView& reader) {
  const std::optional<NodeView> norm = m.sole_maker(value, reader);
  return norm && is_normed(*norm) && norm->result_id(0) == value ? norm : std::nullopt;
}

// The sum of a norm of f32, without a residual, and of what was there before it; of two such norms the later one.
std::optional<SummedNorm> norm_in(const Matching& m, const NodeView& sum) {
  if (sum.op() != "add" || !is_f32(sum) || sum.operand_id(op::add::a) == sum.operand_id(op::add::b)) return {};
  std::optional<SummedNorm> found;
  for (int k = 0; k < 2; ++k) {
    if (sum.in(k).elements() != sum.out(0).elements()) return {};
    const std::optional<NodeView> norm = norm_of(m, sum.operand_id(k), sum);
    if (!norm || norm->has(residual_of(*norm)) || !is_f32(*norm)) continue;
    const std::optional<NodeView> other = m.maker(sum.operand_id(1 - k));
    if ((!other || other->index() < norm->index()) && !m.changes_between(*norm, sum))
      found = SummedNorm{*norm, sum, 1 - k};
  }
  return found;
}

// Where the norm stood: others read its moments.
Match normed_match(const SummedNorm& s, const NodeView& last) {
  Match match({s.norm.index(), last.index()}, s.norm.index(), [=](Rewrite& to) {
    std::vector<uint32_t> operands = operands_of(s.norm, to), results = results_of(s.norm, to);
    const auto place = static_cast<size_t>(residual_of(s.norm));
    if (s.sum && operands.size() <= place) operands.resize(place + 1, TENON_NONE);
    if (s.sum) operands[place] = to.operand(*s.sum, s.residual);
    results[0] = to.result(last, 0);
    add_activated(s.norm, s.norm.op(), operands, results, last, to);
  });
  if (s.sum && s.sum->index() != last.index()) match.nodes.push_back(s.sum->index());
  return match;
}

}  // namespace

std::optional<Match> activated_norm(const Matching& m, const NodeView& activation) {
  const uint32_t z = activation.operand_id(op::activation::x);
  std::optional<SummedNorm> s;
  if (const std::optional<NodeView> norm = norm_of(m, z, activation))
    s = SummedNorm{*norm, {}};
  else if (const std::optional<NodeView> sum = m.sole_maker(z, activation))
    s = norm_in(m, *sum);
  if (!s) return {};
  const bool has_alpha =
      activation.enumerator("act") == TENON_ACT_LEAKY_RELU || activation.enumerator("act") == TENON_ACT_ELU;
  if (s->norm.op() == "batch_norm" ? !is_clip(activation) : has_alpha) return {};
  return normed_match(*s, activation);
}

std::optional<Match> norm_with_residual(const Matching& m, const NodeView& sum) {
  const std::optional<SummedNorm> s = norm_in(m, sum);
  return s ? std::optional<Match>(normed_match(*s, sum)) : std::nullopt;
}

std::optional<Match> swished_norm(const Matching& m, const NodeView& activation) {
  const std::optional<Swished> s = find_swished(m, activation);
  if (!s) return {};
  Match match({s->norm.index(), activation.index(), s->slope.index(), s->grad.index()}, s->norm.index(),
              [s](Rewrite& to) {
                std::vector<uint32_t> results = results_of(s->norm, to);
                results[0] = to.result(s->activation, 0);
                add_activated(s->norm, s->norm.op(), operands_of(s->norm, to), results, s->activation, to);
              });
  match.parts.push_back({s->grad.index(), [s](Rewrite& to) {
                           std::vector<uint32_t> operands = operands_of(s->grad, to);
                           operands.resize(own::batch_norm_grad::beta + 1, TENON_NONE);
                           operands[own::batch_norm_grad::dy] = to.operand(s->slope, op::activation_grad::g);
                           operands[own::batch_norm_grad::beta] = to.operand(s->norm, op::batch_norm::beta);
                           add_activated(s->grad, "cpu.batch_norm_grad", operands, results_of(s->grad, to),
                                         s->activation, to);
                         }});
  return match;
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
    add_activated(norm, norm.op(), operands, results_of(norm, to), *activation, to);
  });
}

}  // namespace tenon::cpu
