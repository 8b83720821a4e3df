#include <map>
#include <string_view>

#include "fuser.h"

namespace tenon::cpu {
namespace {

using plugin::GraphView;
using plugin::NodeView;
using plugin::Rewrite;
using plugin::Span;

int64_t item(Span<int64_t> list, size_t i) { return i < list.size() ? list[i] : 0; }

bool is_zero(Span<int64_t> list, size_t i) { return item(list, i) == 0; }

// Zeros around images, batch and channels apart.
bool suits(const NodeView& pad) {
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
bool is_rectified(const NodeView& node, uint32_t value) {
  for (const char* op : {"batch_norm", "batch_norm_apply", "conv_bias_act", "activation"})
    if (node.op() == op) return node.result_id(0) == value && node.enumerator("act") == TENON_ACT_RELU;
  return false;
}

// A pad whose only reader can pad by itself: a convolution, or a max-pool of what is not below zero.
class PadFuser : public Fuser {
 public:
  explicit PadFuser(const GraphView& graph) : graph_(graph) {
    const std::vector<std::vector<uint32_t>> readers = readers_of(graph);
    std::map<uint32_t, bool> rectified;
    for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
      const NodeView node = graph.node(i);
      for (int k = 0; k < node.results(); ++k) rectified[node.result_id(k)] = is_rectified(node, node.result_id(k));
      if (node.op() != "pad" || !suits(node) || readers[node.result_id(0)].size() != 1) continue;
      const uint32_t reader = readers[node.result_id(0)][0];
      if (reader == TENON_NONE || !pads(graph.node(reader), node, rectified[node.operand_id(0)])) continue;
      pad_of_[reader] = i;
      pads_[i] = reader;
    }
  }

  bool empty() const override { return pad_of_.empty(); }
  bool replaces(uint32_t node) const override { return pad_of_.count(node) || pads_.count(node); }

  void replace(uint32_t node, Rewrite& rewrite) override {
    if (pads_.count(node)) return;
    const NodeView reader = graph_.node(node), pad = graph_.node(pad_of_.at(node));
    std::vector<uint32_t> operands{rewrite.value(pad.operand_id(0))};
    for (int k = 1; k < reader.operands(); ++k) operands.push_back(rewrite.value(reader.operand_id(k)));
    plugin::GraphBuilder& added =
        rewrite.add(reader.op(), operands, {rewrite.value(reader.result_id(0))}, reader, reader.version());
    for (int i = 0; i < reader.attributes(); ++i)
      if (reader.attribute_name(i) != "low" && reader.attribute_name(i) != "high")
        added.attr(graph_, reader.attribute(i));
    for (const char* side : {"low", "high"}) {
      std::vector<int64_t> sum;
      for (size_t d = 0; d + 2 < static_cast<size_t>(pad.out(0).rank()); ++d)
        sum.push_back(item(reader.list(side), d) + item(pad.list(side), d + 1));
      added.attr_list(side, sum);
    }
  }

 private:
  static bool pads(const NodeView& reader, const NodeView& pad, bool rectified) {
    if (reader.operand_id(0) != pad.result_id(0)) return false;
    if (reader.op() == "conv" || reader.op() == "conv_bias_act") return true;
    if (reader.op() != "max_pool" || !rectified) return false;
    for (size_t d = 0; d < reader.list("window").size(); ++d)  // no window lies in pads alone
      for (const char* side : {"low", "high"})
        if (item(reader.list(side), d) + item(pad.list(side), d + 1) >= reader.list("window")[d]) return false;
    return true;
  }

  GraphView graph_;
  std::map<uint32_t, uint32_t> pad_of_, pads_;  // reader -> pad, pad -> reader
};

}  // namespace

std::unique_ptr<Fuser> fuse_pads(const GraphView& graph) { return std::make_unique<PadFuser>(graph); }

}  // namespace tenon::cpu
