#include "fuse/patterns.h"
#include "tenon/abi/optimizer.h"
#include "tenon/op/names.h"

namespace tenon::cpu {
namespace {

bool is_of(const NodeView& cast, int32_t from, int32_t to) {
  return cast.in(op::cast::x).dtype() == from && cast.out(0).dtype() == to;
}
bool is_cast(const std::optional<NodeView>& node) { return node && node->op() == "cast"; }

// The operand that a kernel reads in bf16 or in f32 alike; -1: there is none.
int widened_operand(const NodeView& node) {
  if (node.op() == "softmax_cross_entropy") return op::softmax_cross_entropy::x;
  if (node.op() == "softmax_cross_entropy_grad") return op::softmax_cross_entropy_grad::x;
  const bool update =
      takes_blocks(node.op()) && !node.has(TENON_UPDATE_ROWS) && node.in(TENON_UPDATE_P).dtype() == TENON_F32;
  return update ? TENON_UPDATE_G : -1;
}

// Whether the node reads the value once, and may as well read it as bf16.
bool widens(const NodeView& node, uint32_t value) {
  const int at = widened_operand(node);
  for (int k = 0; k < node.operands(); ++k)
    if (node.has(k) && (node.operand_id(k) == value) != (k == at)) return false;
  return at >= 0;
}

Match left_out(const NodeView& cast, uint32_t value, uint32_t other) {
  Match match({cast.index()});
  match.instead = {{value, other}};
  return match;
}

// Leaves out the cast of logits, or of a weight's gradient, to f32. A pair of casts to bf16 and back is a rounding
// (fuse_rounding.cc).
std::optional<Match> widening(const Matching& m, const NodeView& cast) {
  const uint32_t value = cast.result_id(0);
  if (is_cast(m.maker(cast.operand_id(op::cast::x))) || m.readers(value).empty()) return {};
  for (const uint32_t r : m.readers(value))
    if (r == TENON_NONE || !widens(m.graph().node(r), value)) return {};
  return left_out(cast, value, cast.operand_id(op::cast::x));
}

// Leaves out the cast of the gradient of logits to bf16.
std::optional<Match> narrowing(const Matching& m, const NodeView& cast) {
  const uint32_t value = cast.operand_id(op::cast::x);
  const std::optional<NodeView> maker = m.maker(value);
  if (!maker || maker->op() != "softmax_cross_entropy_grad" || !m.is_only_reader(value, cast.index())) return {};
  for (const uint32_t r : m.readers(cast.result_id(0)))
    if (r != TENON_NONE && m.graph().node(r).op() == "cast") return {};
  return left_out(cast, value, cast.result_id(0));
}

}  // namespace

std::optional<Match> cast_in_kernel(const Matching& m, const NodeView& cast) {
  if (is_of(cast, TENON_BF16, TENON_F32)) return widening(m, cast);
  return is_of(cast, TENON_F32, TENON_BF16) ? narrowing(m, cast) : std::nullopt;
}

}  // namespace tenon::cpu
