// g exp(x - shift), where each row of x has its own shift and g, or all have one g: the gradient of logsumexp. What is the same
// along a row is not stored for each of its elements, and x is read once. Columns gain nothing.
#include "fuse/patterns.h"
#include "own_nodes.h"
#include "tenon/op/names.h"

namespace tenon::cpu {
namespace {

// Whether the value has the leading axes of its broadcast, whole: one number a row of all others.
bool is_of_rows(const NodeView& broadcast) {
  const plugin::ValueView v = broadcast.in(op::broadcast::x), y = broadcast.out(0);
  if (v.rank() >= y.rank()) return false;
  for (int a = 0; a < v.rank(); ++a)
    if (broadcast.list("dims")[static_cast<size_t>(a)] != a || v.dim(a) != y.dim(a)) return false;
  return true;
}

std::optional<NodeView> made_by(const Matching& m, std::string_view op, uint32_t value, const NodeView& reader) {
  const std::optional<NodeView> node = m.sole_maker(value, reader);
  return node && node->op() == op && is_f32(*node) ? node : std::nullopt;
}

// exp(x - broadcast(shift)), read by the product alone.
struct Exponential {
  NodeView exp, difference, shift;
};

std::optional<Exponential> exponential(const Matching& m, const NodeView& product, int k) {
  const auto exp = made_by(m, "exp", product.operand_id(k), product);
  if (!exp) return {};
  const auto difference = made_by(m, "sub", exp->operand_id(op::exp::x), *exp);
  if (!difference || difference->in(op::sub::a).elements() != product.out(0).elements()) return {};
  const auto shift = made_by(m, "broadcast", difference->operand_id(op::sub::b), *difference);
  if (!shift || m.changes_between(*difference, product) || m.changes_between(*shift, product)) return {};
  return is_of_rows(*shift) ? std::optional<Exponential>({*exp, *difference, *shift}) : std::nullopt;
}

}  // namespace

std::optional<Match> exp_of_rows(const Matching& m, const NodeView& product) {
  if (!is_f32(product)) return {};
  for (int k = 0; k < 2; ++k) {
    const std::optional<Exponential> e = exponential(m, product, k);
    if (!e) continue;
    const int other = 1 - k;
    const bool one = product.in(other).rank() == 0;
    const auto factor = one ? std::nullopt : made_by(m, "broadcast", product.operand_id(other), product);
    if (!one && (!factor || !is_of_rows(*factor) || factor->in(0).rank() != e->shift.in(0).rank() ||
                 m.changes_between(*factor, product)))
      continue;
    Match match({product.index(), e->exp.index(), e->difference.index(), e->shift.index()}, product.index(),
                [=, e = *e](Rewrite& to) {
                  const uint32_t g = one ? to.operand(product, other) : to.operand(*factor, op::broadcast::x);
                  to.add("cpu.exp_of_rows",
                         {to.operand(e.difference, op::sub::a), to.operand(e.shift, op::broadcast::x), g},
                         {to.result(product, 0)}, product);
                });
    if (factor) match.nodes.push_back(factor->index());
    return match;
  }
  return {};
}

}  // namespace tenon::cpu
