#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "fuser.h"

namespace tenon::cpu {
namespace {

using plugin::GraphView;
using plugin::NodeView;
using plugin::Rewrite;

constexpr uint32_t kNoNode = TENON_NONE;

// In f32, or of bf16 by numbers of f32, of this process alone, at most a ReLU behind it. x, gamma: their operands.
bool is_plain(const NodeView& norm, int x, int gamma) {
  const int32_t dtype = norm.in(x).dtype();
  return (dtype == TENON_F32 || dtype == TENON_BF16) && norm.in(gamma).dtype() == TENON_F32 &&
         norm.i64("group", 1) == 1 && norm.enumerator("act") <= TENON_ACT_RELU;
}

// All operands of a convolution, or of its input's gradient, are of the dtype of its result.
bool is_uniform(const NodeView& conv) {
  for (int k = 0; k < conv.operands(); ++k)
    if (conv.has(k) && conv.in(k).dtype() != conv.out(0).dtype()) return false;
  return true;
}

// Attributes of the convolution, then those of the norm that it does not have.
void copy_both(plugin::GraphBuilder& to, const NodeView& conv, const NodeView& norm) {
  for (int i = 0; i < conv.attributes(); ++i)
    if (const std::string_view name = conv.attribute_name(i); name != "act" && name != "alpha")
      to.attr(conv.graph(), conv.attribute(i));
  for (int i = 0; i < norm.attributes(); ++i)
    if (const std::string_view name = norm.attribute_name(i); name == "act" || name == "eps")
      to.attr(norm.graph(), norm.attribute(i));
}

// A batch norm and the convolution that makes its operand; a batch norm's gradient and the gradient of a convolution's
// input that makes its own, maybe with another added to it.
class StatisticsFuser : public Fuser {
 public:
  StatisticsFuser(const GraphView& graph, const Fuser& others) : graph_(graph), others_(others), uses_(graph) {
    for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
      if (graph.node(i).op() == "batch_norm") find_forward(graph.node(i));
      if (graph.node(i).op() == "batch_norm_grad") find_gradient(graph.node(i));
    }
  }

  bool empty() const override { return fusion_of_.empty(); }
  bool replaces(uint32_t node) const override { return fusion_of_.count(node) != 0; }

  // Where the norm stood.
  void replace(uint32_t node, Rewrite& rewrite) override {
    const Fusion& f = fusion_of_.at(node);
    if (node != f.norm) return;
    const NodeView norm = graph_.node(f.norm), conv = graph_.node(f.conv);
    norm.op() == "batch_norm" ? replace_forward(conv, norm, rewrite) : replace_gradient(f, conv, norm, rewrite);
  }

 private:
  // Nodes by their index. sum: the addition between the two, whose other operand is `other`, a value; bias: the reduce that
  // makes a bias's gradient of the norm's.
  struct Fusion {
    uint32_t norm = kNoNode, conv = kNoNode, sum = kNoNode, other = kNoNode, bias = kNoNode;
  };

  void keep(const Fusion& f) {
    for (uint32_t node : {f.norm, f.conv, f.sum, f.bias})
      if (node != kNoNode) fusion_of_[node] = f;
  }
  bool is_free(uint32_t node) const { return !others_.replaces(node) && !replaces(node); }

  void find_forward(const NodeView& norm) {
    const uint32_t t = norm.operand_id(0), maker = uses_.maker(t);
    if (maker == kNoNode || !is_free(maker) || !is_plain(norm, 0, 1)) return;
    const NodeView conv = graph_.node(maker);
    if ((conv.op() != "conv" && conv.op() != "conv_bias_act") || !is_uniform(conv) || conv.has(3) ||
        conv.enumerator("act") != TENON_ACT_NONE || conv.i64("groups", 1) != 1)
      return;
    for (uint32_t r : uses_.readers(t))
      if (r < norm.index()) return;
    if (uses_.changes_between(conv, norm)) return;
    Fusion f;
    f.norm = norm.index();
    f.conv = maker;
    keep(f);
  }

  void replace_forward(const NodeView& conv, const NodeView& norm, Rewrite& rewrite) const {
    std::vector<uint32_t> operands, results{rewrite.value(conv.result_id(0))};
    for (int k = 0; k < 3; ++k) operands.push_back(conv.has(k) ? rewrite.value(conv.operand_id(k)) : kNoNode);
    for (int k = 1; k < 4; ++k)
      if (norm.has(k)) operands.push_back(rewrite.value(norm.operand_id(k)));
    for (int k = 0; k < 3; ++k) results.push_back(rewrite.value(norm.result_id(k)));
    copy_both(rewrite.add("cpu.batch_norm.conv", operands, results, norm), conv, norm);
  }

  void find_gradient(const NodeView& norm) {
    if (!is_plain(norm, 1, 2) || norm.in(0).dtype() != norm.in(1).dtype()) return;
    Fusion f;
    f.norm = norm.index();
    f.conv = gradient_that_makes(norm.operand_id(0));
    const uint32_t maker = uses_.maker(norm.operand_id(0));
    if (f.conv == kNoNode && maker != kNoNode && is_free(maker) && graph_.node(maker).op() == "add" &&
        uses_.readers(norm.operand_id(0)).size() == 1) {
      const NodeView sum = graph_.node(maker);
      for (int k = 0; k < 2 && f.conv == kNoNode; ++k)
        if (sum.in(0).elements() == sum.in(1).elements()) {
          f.conv = gradient_that_makes(sum.operand_id(k));
          f.other = sum.operand_id(1 - k);
          f.sum = maker;
        }
    }
    if (f.conv == kNoNode || uses_.changes_between(graph_.node(f.conv), norm)) return;
    f.bias = bias_gradient(norm);
    keep(f);
  }

  // The reduce of the norm's gradient over all of its rows.
  uint32_t bias_gradient(const NodeView& norm) const {
    for (uint32_t r : uses_.readers(norm.result_id(0))) {
      if (r == kNoNode || !is_free(r)) continue;
      const NodeView node = graph_.node(r);
      const plugin::ValueView x = node.in(0);
      const auto axes = node.list("axes");
      if (node.op() == "reduce" && node.enumerator("kind") == TENON_SUM && node.out(0).dtype() == x.dtype() &&
          node.out(0).elements() == x.dim(-1) && std::count(axes.begin(), axes.end(), x.rank() - 1) == 0)
        return r;
    }
    return kNoNode;
  }

  // The gradient of a convolution's input of which nobody else reads the result.
  uint32_t gradient_that_makes(uint32_t value) const {
    const uint32_t maker = uses_.maker(value);
    if (maker == kNoNode || !is_free(maker) || uses_.readers(value).size() != 1) return kNoNode;
    const NodeView node = graph_.node(maker);
    return node.op() == "conv_grad_input" && is_uniform(node) && node.i64("groups", 1) == 1 ? maker : kNoNode;
  }

  void replace_gradient(const Fusion& f, const NodeView& conv, const NodeView& norm, Rewrite& rewrite) const {
    const auto value = [&](const NodeView& node, int k) {
      return node.has(k) ? rewrite.value(node.operand_id(k)) : kNoNode;
    };
    std::vector<uint32_t> operands{value(conv, 0), value(conv, 1), rewrite.value(f.other)}, results;
    for (int k = 1; k < 5; ++k) operands.push_back(value(norm, k));
    const uint32_t beta = norm.enumerator("act") == TENON_ACT_RELU ? beta_of(norm) : kNoNode;
    if (beta != kNoNode) {
      operands.push_back(kNoNode);
      operands.push_back(rewrite.value(beta));
    } else {
      operands.push_back(value(norm, 5));
    }
    for (int k = 0; k < norm.results(); ++k)
      results.push_back(norm.has_result(k) ? rewrite.value(norm.result_id(k)) : kNoNode);
    if (f.bias != kNoNode) {
      results.resize(4, kNoNode);
      results.push_back(rewrite.value(graph_.node(f.bias).result_id(0)));
    }
    copy_both(rewrite.add("cpu.batch_norm.grad_input", operands, results, norm), conv, norm);
  }

  // Of the norm that made y from x alone, so that the ReLU's mask follows from x.
  uint32_t beta_of(const NodeView& grad) const {
    const uint32_t maker = grad.has(5) ? uses_.maker(grad.operand_id(5)) : kNoNode;
    if (maker == kNoNode) return kNoNode;
    const NodeView norm = graph_.node(maker);
    const bool same = norm.op() == "batch_norm" && !norm.has(3) && norm.enumerator("act") == TENON_ACT_RELU &&
                      norm.operand_id(0) == grad.operand_id(1) && norm.operand_id(1) == grad.operand_id(2) &&
                      norm.result_id(0) == grad.operand_id(5) && norm.result_id(1) == grad.operand_id(3) &&
                      norm.result_id(2) == grad.operand_id(4) && norm.f64("eps", 1e-3) == grad.f64("eps", 1e-3);
    return same ? norm.operand_id(2) : kNoNode;
  }

  GraphView graph_;
  const Fuser& others_;
  Uses uses_;
  std::map<uint32_t, Fusion> fusion_of_;  // by every node in it
};

}  // namespace

std::unique_ptr<Fuser> fuse_statistics(const GraphView& graph, const Fuser& others) {
  return std::make_unique<StatisticsFuser>(graph, others);
}

}  // namespace tenon::cpu
