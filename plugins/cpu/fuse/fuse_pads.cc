#include <algorithm>
#include <string_view>

#include "fuse/patterns.h"
#include "tenon/op/names.h"

namespace tenon::cpu {
namespace {

using plugin::Span;

// Where all that can take an image without its pads read it: first.
constexpr int kPaddedImage = op::conv::x;
static_assert(kPaddedImage == 0 && kPaddedImage == op::conv_bias_act::x && kPaddedImage == op::conv_grad_filter::x &&
              kPaddedImage == op::max_pool::x);

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
  if (reader.operand_id(kPaddedImage) != pad.result_id(0)) return false;
  if (reader.op() == "conv" || reader.op() == "conv_bias_act") return true;
  if (reader.op() != "max_pool" || !is_rectified(m, pad.operand_id(op::pad::x))) return false;
  for (size_t d = 0; d < reader.list("window").size(); ++d)  // no window lies in pads alone
    for (const char* side : {"low", "high"})
      if (item(reader.list(side), d) + item(pad.list(side), d + 1) >= reader.list("window")[d]) return false;
  return true;
}

// What a convolution's gradients make of an image with pads around it they make of the image, where the convolution pads.
bool takes_image(const NodeView& reader, uint32_t padded) {
  if (reader.op() != "conv" && reader.op() != "conv_bias_act" && reader.op() != "conv_grad_filter") return false;
  for (int k = kPaddedImage + 1; k < reader.operands(); ++k)
    if (reader.has(k) && reader.operand_id(k) == padded) return false;
  return reader.operand_id(kPaddedImage) == padded;
}

// The convolution, or a gradient of one, whose image has so many points less on each side; `size` is its image's then.
void add_wider(const NodeView& conv, const std::vector<uint32_t>& operands, uint32_t result,
               const std::vector<int64_t>& low, const std::vector<int64_t>& high, const std::vector<int64_t>& size,
               Rewrite& to) {
  plugin::GraphBuilder& added = to.add(conv.op(), operands, {result}, conv, conv.version());
  for (int i = 0; i < conv.attributes(); ++i) {
    const std::string_view name = conv.attribute_name(i);
    if (name != "low" && name != "high" && (name != "size" || size.empty()))
      added.attr(conv.graph(), conv.attribute(i));
  }
  const auto sum = [&](const char* side, const std::vector<int64_t>& more) {
    std::vector<int64_t> pads;
    for (size_t d = 0; d < more.size(); ++d) pads.push_back(item(conv.list(side), d) + more[d]);
    added.attr_list(side, pads);
  };
  sum("low", low);
  sum("high", high);
  if (!size.empty()) added.attr_list("size", size);
}

void add_padded(const NodeView& reader, const NodeView& pad, Rewrite& to) {
  std::vector<uint32_t> operands{to.value(pad.operand_id(op::pad::x))};
  for (int k = kPaddedImage + 1; k < reader.operands(); ++k) operands.push_back(to.operand(reader, k));
  std::vector<int64_t> low, high;
  for (size_t d = 0; d + 2 < static_cast<size_t>(pad.out(0).rank()); ++d) {
    low.push_back(item(pad.list("low"), d + 1));
    high.push_back(item(pad.list("high"), d + 1));
  }
  add_wider(reader, operands, to.result(reader, 0), low, high, {}, to);
}

// A part of images, batch and channels whole.
bool is_of_images(const NodeView& slice) {
  const plugin::ValueView x = slice.in(op::slice::x), y = slice.out(0);
  for (size_t d = 0; d < slice.list("stride").size(); ++d)
    if (slice.list("stride")[d] != 1) return false;
  return x.rank() >= 3 && x.dim(0) == y.dim(0) && x.dim(-1) == y.dim(-1);
}

void add_sliced(const NodeView& grad, const NodeView& slice, Rewrite& to) {
  const plugin::ValueView x = slice.in(op::slice::x), y = slice.out(0);
  std::vector<int64_t> low, high, size;
  for (int d = 1; d + 1 < x.rank(); ++d) {
    low.push_back(item(slice.list("start"), static_cast<size_t>(d)));
    high.push_back(x.dim(d) - low.back() - y.dim(d));
    size.push_back(y.dim(d));
  }
  add_wider(grad, {to.operand(grad, op::conv_grad_input::dy), to.operand(grad, op::conv_grad_input::w)},
            to.result(slice, 0), low, high, size, to);
}

}  // namespace

std::optional<Match> pad_of_reader(const Matching& m, const NodeView& pad) {
  if (!is_around_images(pad)) return {};
  const uint32_t padded = pad.result_id(0);
  std::vector<uint32_t> readers = m.readers(padded);
  std::sort(readers.begin(), readers.end());
  Match match({pad.index()});
  for (const uint32_t r : readers) {
    if (r == TENON_NONE || !m.is_free(r) || r == match.nodes.back()) return {};
    const NodeView reader = m.graph().node(r);
    const bool pools = readers.size() == 1 && can_pad(m, reader, pad);
    if ((!pools && !takes_image(reader, padded)) || m.changes_between(pad, reader)) return {};
    match.nodes.push_back(r);
    match.parts.push_back({r, [pad, reader](Rewrite& to) { add_padded(reader, pad, to); }});
  }
  return readers.empty() ? std::nullopt : std::optional<Match>(std::move(match));
}

std::optional<Match> slice_of_gradient(const Matching& m, const NodeView& slice) {
  const std::optional<NodeView> grad = m.sole_maker(slice.operand_id(op::slice::x), slice);
  if (!grad || grad->op() != "conv_grad_input" || !is_of_images(slice) || m.changes_between(*grad, slice)) return {};
  return Match({grad->index(), slice.index()}, slice.index(), [=](Rewrite& to) { add_sliced(*grad, slice, to); });
}

}  // namespace tenon::cpu
