#include <map>
#include <set>

#include "fuser.h"
#include "tenon/abi/optimizer.h"

namespace tenon::cpu {
namespace {

using plugin::GraphView;
using plugin::NodeView;
using plugin::Rewrite;

// Casts beside kernels that widen what they read, or round what they give, while it is in a cache: of logits to f32 and of
// their gradient to bf16, and of gradients of weights.
class CastFuser : public Fuser {
 public:
  explicit CastFuser(const GraphView& graph) : graph_(graph), uses_(graph) {
    for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
      const NodeView node = graph.node(i);
      if (node.op() != "cast") continue;
      if (is_of(node, TENON_BF16, TENON_F32)) find_readers(node);
      if (is_of(node, TENON_F32, TENON_BF16)) find_maker(node);
    }
  }

  bool empty() const override { return gone_.empty(); }
  bool replaces(uint32_t node) const override { return gone_.count(node) || changed_.count(node); }

  void replace(uint32_t node, Rewrite& rewrite) override {
    if (gone_.count(node)) return;
    const NodeView n = graph_.node(node);
    std::vector<uint32_t> operands, results;
    for (int k = 0; k < n.operands(); ++k) operands.push_back(n.has(k) ? of(rewrite, n.operand_id(k)) : TENON_NONE);
    for (int k = 0; k < n.results(); ++k) results.push_back(n.has_result(k) ? of(rewrite, n.result_id(k)) : TENON_NONE);
    copy_attributes(rewrite.add(n.op(), operands, results, n, n.version()), n);
  }

 private:
  uint32_t of(Rewrite& rewrite, uint32_t value) const {
    const auto other = instead_.find(value);
    return rewrite.value(other == instead_.end() ? value : other->second);
  }
  static bool is_of(const NodeView& cast, int32_t from, int32_t to) {
    return cast.in(0).dtype() == from && cast.out(0).dtype() == to;
  }
  bool is_cast(uint32_t node) const { return node != TENON_NONE && graph_.node(node).op() == "cast"; }

  // A pair of casts there and back is a rounding (fuse_rounding.cc).
  void find_readers(const NodeView& widening) {
    const uint32_t value = widening.result_id(0);
    if (is_cast(uses_.maker(widening.operand_id(0))) || uses_.readers(value).empty()) return;
    for (uint32_t r : uses_.readers(value))
      if (r == TENON_NONE || !widens(graph_.node(r), value)) return;
    gone_.insert(widening.index());
    instead_[value] = widening.operand_id(0);
    changed_.insert(uses_.readers(value).begin(), uses_.readers(value).end());
  }
  // Whether the node reads the value once, and may as well read it as bf16.
  static bool widens(const NodeView& node, uint32_t value) {
    int at = node.op() == "softmax_cross_entropy" ? 0 : node.op() == "softmax_cross_entropy_grad" ? 1 : -1;
    if (takes_blocks(node.op()) && !node.has(TENON_UPDATE_ROWS) && node.in(TENON_UPDATE_P).dtype() == TENON_F32)
      at = TENON_UPDATE_G;
    for (int k = 0; k < node.operands(); ++k)
      if (node.has(k) && (node.operand_id(k) == value) != (k == at)) return false;
    return at >= 0;
  }

  void find_maker(const NodeView& narrowing) {
    const uint32_t value = narrowing.operand_id(0), maker = uses_.maker(value), rounded = narrowing.result_id(0);
    if (maker == TENON_NONE || graph_.node(maker).op() != "softmax_cross_entropy_grad") return;
    if (!uses_.is_only_reader(value, narrowing.index())) return;
    for (uint32_t r : uses_.readers(rounded))
      if (is_cast(r)) return;
    gone_.insert(narrowing.index());
    instead_[value] = rounded;
    changed_.insert(maker);
  }

  GraphView graph_;
  Uses uses_;
  std::map<uint32_t, uint32_t> instead_;  // of values
  std::set<uint32_t> gone_, changed_;
};

}  // namespace

std::unique_ptr<Fuser> fuse_casts(const GraphView& graph) { return std::make_unique<CastFuser>(graph); }

}  // namespace tenon::cpu
