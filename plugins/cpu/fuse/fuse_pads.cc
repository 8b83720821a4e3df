#include <string_view>

#include "fuse/patterns.h"
#include "tenon/op/names.h"

namespace tenon::cpu {
namespace {

using plugin::Span;

int64_t item(Span<int64_t> list, size_t i) { return i < list.size() ? list[i] : 0; }

bool is_zero(Span<int64_t> list, size_t i) { return item(list, i) == 0; }

// Zeros around images, batch and channels apart.
bool is_around_images(const NodeView& pad) {
  const size_t rank = static_cast<size_t>(pad.out(0).rank());
  const Span<int64_t> low = pad.list("low"), high = pad.list("high"), interior = pad.list("interior");
  if (rank < 3 || !plugin::is_float(pad.out(0).dtype()) || pad.f64("value", 1) != 0) return false;
  for (size_t d = 0; d < rank; ++d) {
    const bool image = d > 0 && d + 1 < rank;
    if (!is_zero(interior, d) || item(low, d) < 0 || item(high, d) < 0) return false;
    if (!image && (!is_zero(low, d) || !is_zero(high, d))) return false;
  }
  return true;
}

// Nothing below zero comes out of it, so that a zero beside it is no larger than it.
bool is_rectified(const Matching& m, uint32_t value) {
  const std::optional<NodeView> node = m.maker(value);
  if (!node || node->result_id(0) != value) return false;
  for (const char* op : {"batch_norm", "batch_norm_apply", "conv_bias_act", "activation"})
    if (node->op() == op) return node->enumerator("act") == TENON_ACT_RELU;
  return false;
}

bool can_pad(const Matching& m, const NodeView& reader, const NodeView& pad) {
  if (reader.operand_id(op::pad::x) != pad.result_id(0)) return false;
  if (reader.op() == "conv" || reader.op() == "conv_bias_act") return true;
  if (reader.op() != "max_pool" || !is_rectified(m, pad.operand_id(op::pad::x))) return false;
  for (size_t d = 0; d < reader.list("window").size(); ++d)  // no window lies in pads alone
    for (const char* side : {"low", "high"})
      if (item(reader.list(side), d) + item(pad.list(side), d + 1) >= reader.list("window")[d]) return false;
  return true;
}

void add_padded(const NodeView& reader, const NodeView& pad, Rewrite& to) {
  std::vector<uint32_t> operands{to.value(pad.operand_id(op::pad::x))};
  for (int k = 1; k < reader.operands(); ++k) operands.push_back(to.operand(reader, k));
  plugin::GraphBuilder& added = to.add(reader.op(), operands, {to.result(reader, 0)}, reader, reader.version());
  for (int i = 0; i < reader.attributes(); ++i)
    if (reader.attribute_name(i) != "low" && reader.attribute_name(i) != "high")
      added.attr(reader.graph(), reader.attribute(i));
  for (const char* side : {"low", "high"}) {
    std::vector<int64_t> sum;
    for (size_t d = 0; d + 2 < static_cast<size_t>(pad.out(0).rank()); ++d)
      sum.push_back(item(reader.list(side), d) + item(pad.list(side), d + 1));
    added.attr_list(side, sum);
  }
}

}  // namespace

std::optional<Match> pad_of_reader(const Matching& m, const NodeView& pad) {
  const std::optional<NodeView> reader = m.only_reader(pad.result_id(0));
  if (!reader || !is_around_images(pad) || !can_pad(m, *reader, pad)) return {};
  return Match({pad.index(), reader->index()}, reader->index(),
               [pad, reader](Rewrite& to) { add_padded(*reader, pad, to); });
}

}  // namespace tenon::cpu
