#include <map>
#include <set>

#include "fuser.h"

namespace tenon::cpu {
namespace {

using plugin::GraphView;
using plugin::NodeView;
using plugin::Rewrite;

constexpr int64_t kFewRows = 32;  // of products that stream their weights (kernels/gemm_thin.h), and take no residual

// A product, maybe with a bias, whose result is added to another value and read by nothing else, as gradients of values
// with several readers are: the other value becomes its residual.
class SumFuser : public Fuser {
 public:
  SumFuser(const GraphView& graph, const Fuser& others) : graph_(graph), others_(others), uses_(graph) {
    for (uint32_t i = 0; i < graph.n_nodes(); ++i)
      if (graph.node(i).op() == "add" && is_free(i)) find(graph.node(i));
  }

  bool empty() const override { return sum_of_.empty(); }
  bool replaces(uint32_t node) const override { return sum_of_.count(node) || gone_.count(node); }

  // Where the addition stood: what is added may have been computed after the product.
  void replace(uint32_t node, Rewrite& rewrite) override {
    const auto sum = sum_of_.find(node);
    if (sum == sum_of_.end()) return;
    const NodeView product = graph_.node(sum->second.product);
    plugin::GraphBuilder& fused = rewrite.add(
        "dot_bias_act",
        {rewrite.value(product.operand_id(0)), rewrite.value(product.operand_id(1)),
         product.has(2) ? rewrite.value(product.operand_id(2)) : TENON_NONE, rewrite.value(sum->second.other)},
        {rewrite.value(graph_.node(node).result_id(0))}, product);
    copy_attributes(fused, product);
    if (product.op() == "dot") fused.attr_enum("act", TENON_ACT_NONE).attr_f64("alpha", 0);
  }

 private:
  struct Sum {
    uint32_t product, other;  // a node, a value
  };

  void find(const NodeView& add) {
    if (!add.has(0) || !add.has(1) || add.operand_id(0) == add.operand_id(1)) return;
    for (int k = 0; k < 2; ++k)
      if (add.in(k).elements() != add.out(0).elements()) return;
    // Of two products the later one, so that the other one is there already.
    uint32_t product = TENON_NONE, at = 0;
    for (uint32_t k = 0; k < 2; ++k) {
      const uint32_t maker = product_behind(add.operand_id(static_cast<int>(k)), add.index());
      if (maker != TENON_NONE && (product == TENON_NONE || maker > product)) product = maker, at = k;
    }
    if (product == TENON_NONE || uses_.changes_between(graph_.node(product), add)) return;
    sum_of_[add.index()] = {product, add.operand_id(static_cast<int>(1 - at))};
    gone_.insert(product);
    const uint32_t maker = uses_.maker(add.operand_id(static_cast<int>(at)));
    if (maker != product) gone_.insert(maker);
  }

  // The product of matrices of f32, or of bf16, that makes the value, maybe behind a reshape, if `reader` alone reads it.
  uint32_t product_behind(uint32_t value, uint32_t reader) const {
    uint32_t maker = uses_.maker(value);
    if (maker == TENON_NONE || !uses_.is_only_reader(value, reader)) return TENON_NONE;
    if (graph_.node(maker).op() == "reshape" && is_free(maker)) {
      const uint32_t from = graph_.node(maker).operand_id(0);
      if (!uses_.is_only_reader(from, maker)) return TENON_NONE;
      maker = uses_.maker(from);
    }
    return maker != TENON_NONE && is_free(maker) && suits(graph_.node(maker), graph_.value(value)) ? maker : TENON_NONE;
  }
  static bool suits(const NodeView& product, const plugin::ValueView& sum) {
    const int32_t dtype = product.out(0).dtype();
    const bool biased = product.op() == "dot_bias_act" && product.enumerator("act") == TENON_ACT_NONE &&
                        !product.has(3) && (!product.has(2) || product.in(2).dtype() == dtype);
    return (product.op() == "dot" || biased) && product.in(0).rank() == 2 && product.in(0).dtype() == dtype &&
           product.in(1).rank() == 2 && product.in(1).dtype() == dtype && (dtype == TENON_F32 || dtype == TENON_BF16) &&
           product.out(0).dim(0) > kFewRows && sum.rank() > 0 && sum.dim(-1) == product.out(0).dim(-1);
  }
  bool is_free(uint32_t node) const { return !others_.replaces(node) && !gone_.count(node); }

  GraphView graph_;
  const Fuser& others_;
  Uses uses_;
  std::map<uint32_t, Sum> sum_of_;  // by the addition
  std::set<uint32_t> gone_;
};

}  // namespace

std::unique_ptr<Fuser> fuse_sums(const GraphView& graph, const Fuser& others) {
  return std::make_unique<SumFuser>(graph, others);
}

}  // namespace tenon::cpu
