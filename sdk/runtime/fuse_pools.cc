#include <map>
#include <string_view>
#include <vector>

#include "tenon/plugin/fuser.h"

namespace tenon::plugin {
namespace {

// Nodes of a convolution whose map goes into a pool alone, by their index; kNone: there is none.
constexpr uint32_t kNone = TENON_NONE;
struct Fusion {
  uint32_t conv = kNone, pool = kNone, pool_grad = kNone, grad_input = kNone, grad_filter = kNone;
};

bool is_conv(const NodeView& node) { return node.op() == "conv" || node.op() == "conv_bias_act"; }

bool all_are(Span<int64_t> list, size_t n, int64_t value) {
  if (list.size() != n) return false;
  for (int64_t x : list)
    if (x != value) return false;
  return true;
}

class PoolFuser : public Fuser {
 public:
  PoolFuser(const GraphView& graph, const std::string& prefix, const std::function<bool(const NodeView&)>& suits)
      : graph_(graph), prefix_(prefix), readers_(readers_of(graph)) {
    for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
      const NodeView node = graph.node(i);
      if (is_conv(node) && is_plain(node) && (!suits || suits(node))) find(node);
    }
  }

  bool empty() const override { return fusion_of_.empty(); }
  bool replaces(uint32_t node) const override { return fusion_of_.count(node) != 0; }

  // Each node where it stood; the pool is made with the convolution and its gradient with those that read it.
  void replace(uint32_t node, Rewrite& rewrite) override {
    const Fusion& f = fusion_of_.at(node);
    const NodeView conv = graph_.node(f.conv), pool = graph_.node(f.pool), here = graph_.node(node);
    if (node == f.conv) {
      const uint32_t p = rewrite.value(pool.result_id(0));
      winners_[f.conv] = rewrite.fresh(TENON_U8, pool.out(0).dims().vec());
      std::vector<uint32_t> operands{rewrite.value(conv.operand_id(0)), rewrite.value(conv.operand_id(1))};
      if (conv.has(2)) operands.push_back(rewrite.value(conv.operand_id(2)));
      copy_attributes(rewrite.add(prefix_ + ".conv_pool", operands, {p, winners_[f.conv]}, conv), conv);
    } else if (node == f.grad_input || node == f.grad_filter) {
      const bool input = node == f.grad_input;
      const uint32_t dp = rewrite.value(graph_.node(f.pool_grad).operand_id(2));
      const uint32_t other = rewrite.value(here.operand_id(input ? 1 : 0));
      std::vector<uint32_t> operands{input ? dp : other, input ? other : dp, winners_[f.conv]};
      copy_attributes(rewrite.add(prefix_ + (input ? ".pooled_grad_input" : ".pooled_grad_filter"), operands,
                                  {rewrite.value(here.result_id(0))}, here),
                      here);
    }
  }

 private:
  // Two spatial dimensions in f32 or bf16, one group, at most a ReLU behind it.
  static bool is_plain(const NodeView& conv) {
    const ValueView y = conv.out(0);
    return (y.dtype() == TENON_F32 || y.dtype() == TENON_BF16) && conv.in(0).dtype() == y.dtype() && y.rank() == 4 &&
           y.dim(1) >= 2 && y.dim(2) >= 2 && conv.i64("groups", 1) == 1 && !conv.has(3) &&
           conv.enumerator("act") <= TENON_ACT_RELU && (conv.in(1).dim(0) > 1 || conv.in(1).dim(1) > 1);
  }
  bool is_half(const NodeView& pool, const ValueView& map, const ValueView& pooled) const {
    return all_are(pool.list("window"), 2, 2) && all_are(pool.list("strides"), 2, 2) &&
           (pool.list("low").empty() || all_are(pool.list("low"), 2, 0)) && pooled.dim(1) == map.dim(1) / 2 &&
           pooled.dim(2) == map.dim(2) / 2;
  }

  // What a gradient has to have in common with its convolution.
  static bool same_geometry(const NodeView& a, const NodeView& b) {
    for (const char* name : {"strides", "low", "high", "dilation"})
      if (a.list(name).vec() != b.list(name).vec()) return false;
    return a.i64("groups", 1) == b.i64("groups", 1);
  }

  void find(const NodeView& conv) {
    const uint32_t map = conv.result_id(0);
    Fusion f;
    f.conv = conv.index();
    for (uint32_t r : readers_[map]) {
      if (r == kNone) return;
      const NodeView reader = graph_.node(r);
      const bool pools = reader.op() == "max_pool", unpools = reader.op() == "max_pool_grad";
      if (pools && f.pool == kNone && is_half(reader, conv.out(0), reader.out(0)))
        f.pool = r;
      else if (unpools && f.pool_grad == kNone && reader.operand_id(0) == map)
        f.pool_grad = r;
      else
        return;
    }
    if (f.pool == kNone || (f.pool_grad != kNone && !find_gradients(conv, f))) return;
    for (uint32_t node : {f.conv, f.pool, f.pool_grad, f.grad_input, f.grad_filter})
      if (node != kNone) fusion_of_[node] = f;
  }

  // Whether the map's gradient goes to the convolution's own gradients alone.
  bool find_gradients(const NodeView& conv, Fusion& f) const {
    const NodeView pool_grad = graph_.node(f.pool_grad), pool = graph_.node(f.pool);
    if (pool_grad.operand_id(1) != pool.result_id(0) || !is_half(pool_grad, conv.out(0), pool.out(0))) return false;
    for (uint32_t r : readers_[pool_grad.result_id(0)]) {
      if (r == kNone || !same_geometry(graph_.node(r), conv)) return false;
      const NodeView reader = graph_.node(r);
      if (reader.op() == "conv_grad_input" && f.grad_input == kNone && reader.operand_id(1) == conv.operand_id(1))
        f.grad_input = r;
      else if (reader.op() == "conv_grad_filter" && f.grad_filter == kNone &&
               reader.operand_id(0) == conv.operand_id(0))
        f.grad_filter = r;
      else
        return false;
    }
    return true;
  }

  GraphView graph_;
  std::string prefix_;
  std::vector<std::vector<uint32_t>> readers_;
  std::map<uint32_t, Fusion> fusion_of_;  // by every node in it
  std::map<uint32_t, uint32_t> winners_;  // by convolution, in the new graph
};

}  // namespace

std::unique_ptr<Fuser> fuse_pools(const GraphView& graph, const std::string& prefix,
                                  const std::function<bool(const NodeView& conv)>& suits) {
  return std::make_unique<PoolFuser>(graph, prefix, suits);
}

}  // namespace tenon::plugin
