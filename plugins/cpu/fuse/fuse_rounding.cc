#include <cstring>

#include "fuse/patterns.h"
#include "tenon/op/names.h"

namespace tenon::cpu {
namespace {

bool is_cast(const NodeView& node, int32_t from, int32_t to) {
  return node.op() == "cast" && node.in(op::cast::x).dtype() == from && node.out(0).dtype() == to;
}

// Whether the value is a constant f32 whose every element is this number; -0 is not 0.
bool is_filled(const Matching& m, uint32_t value, float number) {
  const tenon_constant* c = m.constant(value);
  return c && m.graph().value(value).dtype() == TENON_F32 && c->bytes == sizeof number &&
         std::memcmp(m.graph().constant_data(*c), &number, sizeof number) == 0;
}

// The nodes of select(abs(r) < 2^-126, r * 0, r).
struct Flush {
  std::optional<NodeView> size, zero, choice, small;
};

bool is_small(const Matching& m, const NodeView& node, uint32_t size) {
  return node.op() == "compare" && node.enumerator("kind") == TENON_COMPARE_LT &&
         node.operand_id(op::compare::a) == size && is_filled(m, node.operand_id(op::compare::b), 0x1p-126f);
}
bool is_zero(const Matching& m, const NodeView& node, uint32_t r) {
  const int k = node.operand_id(op::mul::a) == r ? 1 : 0;
  return node.operand_id(1 - k) == r && is_filled(m, node.operand_id(k), 0);
}
bool chooses(const Flush& f, uint32_t r) {
  return f.choice->op() == "select" && f.choice->operand_id(op::select::c) == f.small->result_id(0) &&
         f.choice->operand_id(op::select::a) == f.zero->result_id(0) && f.choice->operand_id(op::select::b) == r;
}

// Finds the flush of the result of `widening`, which nothing else may read.
std::optional<Flush> find_flush(const Matching& m, const NodeView& widening) {
  const uint32_t r = widening.result_id(0);
  if (m.readers(r).size() != 3) return {};
  Flush f;
  for (const uint32_t i : m.readers(r)) {
    if (i == TENON_NONE) return {};
    const NodeView node = m.graph().node(i);
    (node.op() == "abs" ? f.size : node.op() == "mul" ? f.zero : f.choice) = node;
  }
  if (!f.size || !f.zero || !f.choice) return {};
  f.small = m.only_reader(f.size->result_id(0));
  const uint32_t choice = f.choice->index();
  if (!f.small || !m.is_only_reader(f.small->result_id(0), choice) || !m.is_only_reader(f.zero->result_id(0), choice))
    return {};
  if (!is_small(m, *f.small, f.size->result_id(0)) || !is_zero(m, *f.zero, r) || !chooses(f, r)) return {};
  return f;
}

}  // namespace

std::optional<Match> rounding(const Matching& m, const NodeView& narrowing) {
  const std::optional<NodeView> widening = m.only_reader(narrowing.result_id(0));
  if (!widening || !is_cast(narrowing, TENON_F32, TENON_BF16) || !is_cast(*widening, TENON_BF16, TENON_F32)) return {};
  const std::optional<Flush> flush = find_flush(m, *widening);
  const NodeView last = flush ? *flush->choice : *widening;
  Match match({narrowing.index(), widening->index()}, last.index(), [narrowing, last, flush](Rewrite& to) {
    to.add("cpu.round_bf16", {to.operand(narrowing, 0)}, {to.result(last, 0)}, last)
        .attr_bool("flush", flush.has_value());
  });
  if (flush)
    for (const auto& node : {flush->size, flush->zero, flush->small, flush->choice})
      match.nodes.push_back(node->index());
  return match;
}

}  // namespace tenon::cpu
