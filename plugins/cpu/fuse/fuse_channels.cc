// Numbers of an example's channels that are multiplied with, or added to, all of its points, as by squeeze-and-excite: they
// are not stored for every point.
#include "fuse/patterns.h"
#include "tenon/op/names.h"

namespace tenon::cpu {
namespace {

// From the channels of each example: [N, 1.., C], or [N, C], to [N, M.., C].
bool is_of_channels(const NodeView& broadcast) {
  const plugin::ValueView v = broadcast.in(op::broadcast::x), y = broadcast.out(0);
  if (y.rank() < 3 || y.dtype() != TENON_F32 || v.elements() != y.dim(0) * y.dim(-1)) return false;
  for (int i = 0; i < v.rank(); ++i) {
    const int64_t d = broadcast.list("dims")[static_cast<size_t>(i)];
    if (v.dim(i) != 1 && d != 0 && d != y.rank() - 1) return false;
  }
  return true;
}

// The operand beside the broadcast value; -1: it is none that takes one.
int other_operand(const NodeView& reader, uint32_t value) {
  using pair = op::mul;  // add has its operands in the same places
  if (reader.op() != "mul" && reader.op() != "add") return -1;
  const bool first = reader.operand_id(pair::a) == value, second = reader.operand_id(pair::b) == value;
  const int other = first ? pair::b : pair::a;
  return first != second && reader.in(other).elements() == reader.out(0).elements() ? other : -1;
}

}  // namespace

std::optional<Match> broadcast_channels(const Matching& m, const NodeView& broadcast) {
  if (!is_of_channels(broadcast)) return {};
  const uint32_t value = broadcast.result_id(0), v = broadcast.operand_id(op::broadcast::x);
  Match match({broadcast.index()});
  for (const uint32_t r : m.readers(value)) {
    if (r == TENON_NONE || !m.is_free(r)) return {};
    const NodeView reader = m.graph().node(r);
    const int other = other_operand(reader, value);
    if (other < 0 || m.changes_between(broadcast, reader)) return {};
    match.nodes.push_back(r);
    match.parts.push_back({r, [=](Rewrite& to) {
                             const char* const op = reader.op() == "mul" ? "cpu.mul_channels" : "cpu.add_channels";
                             to.add(op, {to.operand(reader, other), to.value(v)}, {to.result(reader, 0)}, reader);
                           }});
  }
  return match.parts.empty() ? std::nullopt : std::optional<Match>(std::move(match));
}

}  // namespace tenon::cpu
