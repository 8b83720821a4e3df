#include <cstring>
#include <map>

#include "fuser.h"

namespace tenon::cpu {
namespace {

using plugin::GraphView;
using plugin::NodeView;
using plugin::Rewrite;

// A cast to bf16 and one back, and, where all that reads that is it, what turns subnormals into zeros:
// select(abs(r) < 2^-126, r * 0, r).
class RoundingFuser : public Fuser {
 public:
  explicit RoundingFuser(const GraphView& graph) : graph_(graph), readers_(readers_of(graph)) {
    constants_.assign(graph.n_values(), TENON_NONE);
    for (uint32_t i = 0; i < graph.n_constants(); ++i) constants_[graph.constant(i).value] = i;
    for (uint32_t i = 0; i < graph.n_nodes(); ++i) find(graph.node(i));
  }

  bool empty() const override { return rounds_.empty(); }
  bool replaces(uint32_t node) const override { return rounds_.count(node) || gone_.count(node); }

  void replace(uint32_t node, Rewrite& rewrite) override {
    const auto round = rounds_.find(node);
    if (round == rounds_.end()) return;
    rewrite
        .add("cpu.round_bf16", {rewrite.value(round->second.x)}, {rewrite.value(graph_.node(node).result_id(0))},
             graph_.node(node))
        .attr_bool("flush", round->second.flush);
  }

 private:
  struct Round {
    uint32_t x;
    bool flush;
  };

  void find(const NodeView& narrowing) {
    if (!is_cast(narrowing, TENON_F32, TENON_BF16)) return;
    const uint32_t widening = only_reader(narrowing);
    if (widening == TENON_NONE || !is_cast(graph_.node(widening), TENON_BF16, TENON_F32)) return;
    gone_[narrowing.index()] = true;
    const uint32_t last = find_flush(graph_.node(widening));
    rounds_[last == TENON_NONE ? widening : last] = {narrowing.operand_id(0), last != TENON_NONE};
  }

  // The select that ends the flush of what `widening` gives; its nodes are gone then.
  uint32_t find_flush(const NodeView& widening) {
    const uint32_t r = widening.result_id(0);
    if (readers_[r].size() != 3) return TENON_NONE;
    uint32_t size = TENON_NONE, zero = TENON_NONE, choice = TENON_NONE;
    for (uint32_t i : readers_[r]) {
      if (i == TENON_NONE) return TENON_NONE;
      const std::string_view op = graph_.node(i).op();
      (op == "abs" ? size : op == "mul" ? zero : choice) = i;
    }
    if (size == TENON_NONE || zero == TENON_NONE || choice == TENON_NONE) return TENON_NONE;
    const uint32_t small = only_reader(graph_.node(size));
    if (small == TENON_NONE || only_reader(graph_.node(small)) != choice || only_reader(graph_.node(zero)) != choice)
      return TENON_NONE;
    if (!is_small(graph_.node(small), graph_.node(size).result_id(0)) || !is_zero(graph_.node(zero), r) ||
        !chooses(graph_.node(choice), graph_.node(small).result_id(0), graph_.node(zero).result_id(0), r))
      return TENON_NONE;
    for (uint32_t i : {widening.index(), size, zero, small}) gone_[i] = true;
    return choice;
  }

  bool is_small(const NodeView& node, uint32_t size) const {
    return node.op() == "compare" && node.enumerator("kind") == TENON_LT && node.operand_id(0) == size &&
           is_filled(node.operand_id(1), 0x1p-126f);
  }
  bool is_zero(const NodeView& node, uint32_t r) const {
    const int k = node.operand_id(0) == r ? 1 : 0;
    return node.operand_id(1 - k) == r && is_filled(node.operand_id(k), 0);
  }
  static bool chooses(const NodeView& node, uint32_t small, uint32_t zero, uint32_t r) {
    return node.op() == "select" && node.operand_id(0) == small && node.operand_id(1) == zero &&
           node.operand_id(2) == r;
  }

  static bool is_cast(const NodeView& node, int32_t from, int32_t to) {
    return node.op() == "cast" && node.in(0).dtype() == from && node.out(0).dtype() == to;
  }
  // The node that alone reads the node's only result, or TENON_NONE.
  uint32_t only_reader(const NodeView& node) const {
    const std::vector<uint32_t>& readers = readers_[node.result_id(0)];
    return readers.size() == 1 ? readers[0] : TENON_NONE;
  }
  // A constant f32 of this number throughout, the sign of a zero being that of +0.
  bool is_filled(uint32_t value, float number) const {
    if (constants_[value] == TENON_NONE || graph_.value(value).dtype() != TENON_F32) return false;
    const tenon_constant& c = graph_.constant(constants_[value]);
    return c.bytes == sizeof number && std::memcmp(graph_.constant_data(c), &number, sizeof number) == 0;
  }

  GraphView graph_;
  std::vector<std::vector<uint32_t>> readers_;
  std::vector<uint32_t> constants_;
  std::map<uint32_t, Round> rounds_;  // by the node that gives the result
  std::map<uint32_t, bool> gone_;
};

}  // namespace

std::unique_ptr<Fuser> fuse_rounding(const GraphView& graph) { return std::make_unique<RoundingFuser>(graph); }

}  // namespace tenon::cpu
