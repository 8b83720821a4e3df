#include <map>
#include <set>

#include "fuser.h"

namespace tenon::cpu {
namespace {

using plugin::GraphView;
using plugin::NodeView;
using plugin::Rewrite;

constexpr int64_t kDrawn = 4;      // elements that one counter decides
constexpr int64_t kTogether = 64;  // elements that are drawn for at a time
constexpr int64_t kWhole = 256;    // columns up to which blocks of a large product are whole rows

// A product and the dropout that takes its result. Where the product ends in a ReLU, the gradients of both as well: they
// follow from what dropout gave, so that the product's result is in no memory and nothing is drawn again.
class DropoutFuser : public Fuser {
 public:
  explicit DropoutFuser(const GraphView& graph) : graph_(graph), uses_(graph) {
    for (uint32_t i = 0; i < graph.n_nodes(); ++i)
      if (graph.node(i).op() == "dropout") find(graph.node(i));
  }

  bool empty() const override { return product_of_.empty(); }
  bool replaces(uint32_t node) const override {
    return product_of_.count(node) || gradient_of_.count(node) || gone_.count(node);
  }

  void replace(uint32_t node, Rewrite& rewrite) override {
    if (product_of_.count(node)) replace_forward(graph_.node(product_of_.at(node)), graph_.node(node), rewrite);
    if (gradient_of_.count(node)) replace_gradient(gradient_of_.at(node), graph_.node(node), rewrite);
  }

 private:
  struct Gradient {
    uint32_t dropout, forward;  // nodes: dropout's own gradient, and the dropout
  };

  void find(const NodeView& dropout) {
    if (gone_.count(dropout.index()) || !dropout.has(0)) return;
    const uint32_t x = uses_.before_reshape(dropout.operand_id(0)), maker = uses_.maker(x);
    if (dropout.has(3) && uses_.before_reshape(dropout.operand_id(3)) == x) return;
    if (maker == TENON_NONE || replaces(maker) || !suits(graph_.node(maker), dropout)) return;
    const NodeView product = graph_.node(maker);
    if (uses_.changes_between(product, dropout)) return;
    const uint32_t relu = reader_beside(x, dropout);
    if (relu == TENON_NONE) return;
    if (relu != dropout.index() && !find_gradient(product, dropout, graph_.node(relu))) return;
    product_of_[dropout.index()] = maker;
    gone_.insert(maker);
    remove_reshape(dropout.operand_id(0));
  }

  // In f32 or bf16, of matrices, nothing added behind its sums but a bias; elements that one counter decides lie in one
  // row, and of a block's elements few are drawn for in vain.
  static bool suits(const NodeView& product, const NodeView& dropout) {
    if (product.op() != "dot" && product.op() != "dot_bias_act") return false;
    const int32_t dtype = product.out(0).dtype();
    for (int k = 0; k < product.operands(); ++k)
      if (product.has(k) && product.in(k).dtype() != dtype) return false;
    const double rate = dropout.f64("rate");
    const int64_t columns = product.out(0).rank() > 0 ? product.out(0).dim(-1) : 0;
    if (columns % kDrawn != 0 || (columns > kWhole && columns % kTogether != 0)) return false;
    return rate >= 0 && rate <= 1 && !product.has(3) && product.in(0).rank() == 2 && product.in(1).rank() == 2 &&
           (dtype == TENON_F32 || dtype == TENON_BF16) && dropout.in(0).rank() > 0 && dropout.in(0).dim(-1) == columns;
  }

  // The node that reads x beside `dropout`, maybe behind a reshape; `dropout` itself if there is none; TENON_NONE if there
  // are more.
  uint32_t reader_beside(uint32_t x, const NodeView& dropout) const {
    const uint32_t first = dropout.operand_id(0);
    if (first != x && !uses_.is_only_reader(first, dropout.index())) return TENON_NONE;
    const uint32_t to_dropout = first == x ? dropout.index() : uses_.maker(first);
    uint32_t other = dropout.index();
    for (uint32_t r : uses_.readers(x)) {
      if (r == to_dropout) continue;
      if (other != dropout.index() || r == TENON_NONE) return TENON_NONE;
      other = r;
    }
    return other;
  }

  bool find_gradient(const NodeView& product, const NodeView& dropout, const NodeView& relu) {
    const bool is_relu = relu.op() == "bias_act_grad" && relu.index() > dropout.index() &&
                         product.enumerator("act") == TENON_ACT_RELU && relu.enumerator("act") == TENON_ACT_RELU &&
                         relu.operand_id(1) == product.result_id(0);
    if (!is_relu || dropout.has(3) || dropout.f64("rate") >= 1) return false;
    const uint32_t g = relu.operand_id(0), from = uses_.before_reshape(g), maker = uses_.maker(from);
    if (maker == TENON_NONE || maker == dropout.index() || replaces(maker)) return false;
    if (!draws_alike(graph_.node(maker), dropout)) return false;
    if (from != g && !uses_.is_only_reader(g, relu.index())) return false;
    if (!uses_.is_only_reader(from, from == g ? relu.index() : uses_.maker(g))) return false;
    gradient_of_[relu.index()] = {maker, dropout.index()};
    gone_.insert(maker);
    remove_reshape(g);
    return true;
  }
  static bool draws_alike(const NodeView& a, const NodeView& b) {
    return a.op() == "dropout" && !a.has(3) && a.operand_id(1) == b.operand_id(1) &&
           a.operand_id(2) == b.operand_id(2) && a.f64("rate") == b.f64("rate") && a.i64("stream") == b.i64("stream") &&
           a.has(0) && a.in(0).rank() > 0 && a.in(0).dim(-1) == b.in(0).dim(-1);
  }

  void remove_reshape(uint32_t value) {
    if (uses_.before_reshape(value) != value) gone_.insert(uses_.maker(value));
  }

  // Where the dropout stood: its residual may have been computed after the product.
  static void replace_forward(const NodeView& product, const NodeView& dropout, Rewrite& rewrite) {
    const auto of = [&](const NodeView& n, int k) { return n.has(k) ? rewrite.value(n.operand_id(k)) : TENON_NONE; };
    plugin::GraphBuilder& fused =
        rewrite.add("cpu.dot_dropout",
                    {of(product, 0), of(product, 1), of(product, 2), of(dropout, 1), of(dropout, 2), of(dropout, 3)},
                    {rewrite.value(dropout.result_id(0))}, product);
    copy_attributes(fused, product);
    copy_attributes(fused, dropout);
  }
  void replace_gradient(const Gradient& g, const NodeView& relu, Rewrite& rewrite) const {
    std::vector<uint32_t> results;
    for (int k = 0; k < relu.results(); ++k)
      results.push_back(relu.has_result(k) ? rewrite.value(relu.result_id(k)) : TENON_NONE);
    const NodeView dropout = graph_.node(g.dropout);
    rewrite
        .add("cpu.dropout_relu_grad",
             {rewrite.value(dropout.operand_id(0)), rewrite.value(graph_.node(g.forward).result_id(0))}, results, relu)
        .attr_f64("rate", dropout.f64("rate"));
  }

  GraphView graph_;
  Uses uses_;
  std::map<uint32_t, uint32_t> product_of_;   // dropout -> product
  std::map<uint32_t, Gradient> gradient_of_;  // by the ReLU's
  std::set<uint32_t> gone_;
};

}  // namespace

std::unique_ptr<Fuser> fuse_dropout(const GraphView& graph) { return std::make_unique<DropoutFuser>(graph); }

}  // namespace tenon::cpu
