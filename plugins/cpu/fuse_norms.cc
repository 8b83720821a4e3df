#include <map>
#include <string_view>

#include "fuser.h"

namespace tenon::cpu {
namespace {

using plugin::GraphView;
using plugin::NodeView;
using plugin::Rewrite;

// A convolution whose result a batch norm of given moments takes, and nothing else.
class NormFuser : public Fuser {
 public:
  explicit NormFuser(const GraphView& graph) : graph_(graph) {
    const std::vector<std::vector<uint32_t>> readers = readers_of(graph);
    for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
      const NodeView norm = graph.node(i);
      if (norm.op() == "batch_norm_apply") find(norm, readers);
    }
  }

  bool empty() const override { return conv_of_.empty(); }
  bool replaces(uint32_t node) const override { return conv_of_.count(node) || convs_.count(node); }

  // Where the norm stood: its residual may have been computed after the convolution.
  void replace(uint32_t node, Rewrite& rewrite) override {
    if (convs_.count(node)) return;
    const NodeView norm = graph_.node(node), conv = graph_.node(conv_of_.at(node));
    const auto of = [&](const NodeView& n, int k) { return n.has(k) ? rewrite.value(n.operand_id(k)) : TENON_NONE; };
    std::vector<uint32_t> operands{of(conv, 0), of(conv, 1), of(conv, 2), of(norm, 5)};
    for (int k = 1; k <= 4; ++k) operands.push_back(of(norm, k));
    plugin::GraphBuilder& fused = rewrite.add("cpu.conv_norm", operands, {rewrite.value(norm.result_id(0))}, conv);
    for (int i = 0; i < conv.attributes(); ++i)
      if (conv.attribute_name(i) != "act" && conv.attribute_name(i) != "alpha") fused.attr(graph_, conv.attribute(i));
    for (int i = 0; i < norm.attributes(); ++i)
      for (const char* name : {"eps", "act", "alpha"})
        if (norm.attribute_name(i) == name) fused.attr(graph_, norm.attribute(i));
  }

 private:
  void find(const NodeView& norm, const std::vector<std::vector<uint32_t>>& readers) {
    const uint32_t x = norm.operand_id(0);
    if (readers[x].size() != 1) return;
    for (int k = 0; k < norm.operands(); ++k)
      if (norm.has(k) && norm.in(k).dtype() != TENON_F32) return;
    const uint32_t conv = producer_of(x);
    if (conv == TENON_NONE || !suits(graph_.node(conv))) return;
    conv_of_[norm.index()] = conv;
    convs_[conv] = norm.index();
  }

  uint32_t producer_of(uint32_t value) {
    if (producers_.empty())
      for (uint32_t i = 0; i < graph_.n_nodes(); ++i)
        for (int k = 0; k < graph_.node(i).results(); ++k) producers_[graph_.node(i).result_id(k)] = i;
    const auto it = producers_.find(value);
    return it == producers_.end() ? TENON_NONE : it->second;
  }

  // In f32, nothing between its sums, with a bias or without, and the norm.
  static bool suits(const NodeView& conv) {
    return (conv.op() == "conv" || conv.op() == "conv_bias_act") && conv.enumerator("act") == TENON_ACT_NONE &&
           !conv.has(3) && conv.in(0).dtype() == TENON_F32 && conv.in(1).dtype() == TENON_F32 &&
           conv.out(0).dtype() == TENON_F32;
  }

  GraphView graph_;
  std::map<uint32_t, uint32_t> producers_;        // of each value
  std::map<uint32_t, uint32_t> conv_of_, convs_;  // norm -> convolution, convolution -> norm
};

}  // namespace

std::unique_ptr<Fuser> fuse_norms(const GraphView& graph) { return std::make_unique<NormFuser>(graph); }

}  // namespace tenon::cpu
