#include <map>
#include <string>
#include <string_view>

#include "fuser.h"
#include "tenon/abi/optimizer.h"

namespace tenon::cpu {
namespace {

using plugin::GraphView;
using plugin::NodeView;
using plugin::Rewrite;

constexpr int64_t kMostDepth = 384;             // products of an element: the block of a gradient is made in one pass
constexpr int64_t kLeastElements = 512 * 1024;  // of a variable that caches do not hold
constexpr int kSlots = 3;

// A dense layer's gradient, A^T B, and the only reader that it has: the update of the weights.
class UpdateFuser : public Fuser {
 public:
  explicit UpdateFuser(const GraphView& graph) : graph_(graph) {
    const std::vector<std::vector<uint32_t>> readers = readers_of(graph);
    for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
      const NodeView dot = graph.node(i);
      if (dot.op() != "dot" || !suits(dot) || readers[dot.result_id(0)].size() != 1) continue;
      const uint32_t reader = readers[dot.result_id(0)][0];
      if (reader != TENON_NONE && suits(graph.node(reader), dot.result_id(0))) gradient_of_[reader] = i;
    }
    for (const auto& [update, dot] : gradient_of_) dots_[dot] = update;
  }

  bool empty() const override { return gradient_of_.empty(); }
  bool replaces(uint32_t node) const override { return gradient_of_.count(node) || dots_.count(node); }

  // Where the update stood: its operands with B for the gradient and A at the end.
  void replace(uint32_t node, Rewrite& rewrite) override {
    if (dots_.count(node)) return;
    const NodeView update = graph_.node(node), dot = graph_.node(gradient_of_.at(node));
    std::vector<uint32_t> operands, results;
    for (int k = 0; k < TENON_UPDATE_SLOTS + kSlots; ++k)
      operands.push_back(update.has(k) ? rewrite.value(update.operand_id(k)) : TENON_NONE);
    operands[TENON_UPDATE_G] = rewrite.value(dot.operand_id(1));
    operands.push_back(rewrite.value(dot.operand_id(0)));
    for (int k = 0; k < update.results(); ++k) results.push_back(rewrite.value(update.result_id(k)));
    copy_attributes(rewrite.add("cpu.product." + std::string(update.op()), operands, results, update), update);
  }

 private:
  static bool suits(const NodeView& dot) {
    const plugin::ValueView a = dot.in(0), y = dot.out(0);
    return a.dtype() == TENON_F32 && y.dtype() == TENON_F32 && a.rank() == 2 && dot.flag("ta") && !dot.flag("tb") &&
           a.dim(0) <= kMostDepth && y.dim(0) > 1 && y.dim(1) > 1 && y.elements() >= kLeastElements;
  }
  static bool suits(const NodeView& update, uint32_t gradient) {
    return takes_blocks(update.op()) && update.operand_id(TENON_UPDATE_G) == gradient &&
           !update.has(TENON_UPDATE_ROWS) && update.in(TENON_UPDATE_P).rank() == 2;
  }

  GraphView graph_;
  std::map<uint32_t, uint32_t> gradient_of_, dots_;  // update -> dot, dot -> update
};

}  // namespace

bool takes_blocks(std::string_view op) {
  for (const char* known : {"sgd_update", "momentum_update", "adam_update", "adamw_update", "adamax_update",
                            "adagrad_update", "rmsprop_update", "adadelta_update", "ftrl_update", "lion_update"})
    if (op == known) return true;
  return false;
}

std::unique_ptr<Fuser> fuse_updates(const GraphView& graph) { return std::make_unique<UpdateFuser>(graph); }

}  // namespace tenon::cpu
