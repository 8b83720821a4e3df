#include "fuse/patterns.h"
#include "tenon/op/names.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kFewRows =
    32;  // of products that stream their weights (kernels/gemm/gemm_thin.h), and take no residual

// A product of matrices of f32, or of bf16, without an activation or a residual.
bool takes_residual(const NodeView& product, const plugin::ValueView& sum) {
  const int32_t dtype = product.out(0).dtype();
  const bool biased = product.op() == "dot_bias_act" && product.enumerator("act") == TENON_ACT_NONE &&
                      !product.has(op::dot_bias_act::residual) &&
                      (!product.has(op::dot_bias_act::bias) || product.in(op::dot_bias_act::bias).dtype() == dtype);
  return (product.op() == "dot" || biased) && product.in(op::dot_bias_act::a).rank() == 2 &&
         product.in(op::dot_bias_act::a).dtype() == dtype && product.in(op::dot_bias_act::b).rank() == 2 &&
         product.in(op::dot_bias_act::b).dtype() == dtype && (dtype == TENON_F32 || dtype == TENON_BF16) &&
         product.out(0).dim(0) > kFewRows && sum.rank() > 0 && sum.dim(-1) == product.out(0).dim(-1);
}

struct Product {
  NodeView node;
  std::optional<NodeView> reshape;  // between the product and the sum
};

// What makes the value, if the sum alone reads it.
std::optional<Product> product_behind(const Matching& m, uint32_t value, const NodeView& sum) {
  std::optional<NodeView> maker = m.sole_maker(value, sum), reshape;
  if (maker && maker->op() == "reshape") {
    reshape = maker;
    maker = m.sole_maker(reshape->operand_id(op::reshape::x), *reshape);
  }
  if (!maker || !takes_residual(*maker, m.graph().value(value))) return {};
  return Product{*maker, reshape};
}

void add_with_residual(const NodeView& product, uint32_t residual, const NodeView& sum, Rewrite& to) {
  plugin::GraphBuilder& fused =
      to.add("dot_bias_act",
             {to.operand(product, op::dot_bias_act::a), to.operand(product, op::dot_bias_act::b),
              to.operand(product, op::dot_bias_act::bias), to.value(residual)},
             {to.result(sum, 0)}, product);
  copy_attributes(fused, product);
  if (product.op() == "dot") fused.attr_enum("act", TENON_ACT_NONE).attr_f64("alpha", 0);
}

}  // namespace

// Where the addition stood: what is added may have been computed after the product.
std::optional<Match> product_with_residual(const Matching& m, const NodeView& sum) {
  if (!sum.has(op::add::a) || !sum.has(op::add::b) || sum.operand_id(op::add::a) == sum.operand_id(op::add::b))
    return {};
  for (int k = 0; k < 2; ++k)
    if (sum.in(k).elements() != sum.out(0).elements()) return {};
  // Where both operands are products, the later one takes the other as its residual.
  std::optional<Product> product;
  int at = 0;
  for (int k = 0; k < 2; ++k) {
    const std::optional<Product> found = product_behind(m, sum.operand_id(k), sum);
    if (found && (!product || found->node.index() > product->node.index())) product = found, at = k;
  }
  if (!product || m.changes_between(product->node, sum)) return {};
  const uint32_t residual = sum.operand_id(1 - at);
  Match match({sum.index(), product->node.index()}, sum.index(),
              [=](Rewrite& to) { add_with_residual(product->node, residual, sum, to); });
  if (product->reshape) match.nodes.push_back(product->reshape->index());
  return match;
}

}  // namespace tenon::cpu
