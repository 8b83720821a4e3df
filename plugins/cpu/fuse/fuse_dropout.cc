#include "fuse/patterns.h"
#include "tenon/op/names.h"

namespace tenon::cpu {
namespace {

using drop = op::dropout;

constexpr int64_t kDrawn = 4;      // elements that one counter decides
constexpr int64_t kTogether = 64;  // elements that are drawn for at a time
constexpr int64_t kWhole = 256;    // columns up to which blocks of a large product are whole rows

// In f32 or bf16, of matrices, nothing added behind its sums but a bias.
bool is_plain_product(const NodeView& product) {
  if (product.op() != "dot" && product.op() != "dot_bias_act") return false;
  const int32_t dtype = product.out(0).dtype();
  for (int k = 0; k < product.operands(); ++k)
    if (product.has(k) && product.in(k).dtype() != dtype) return false;
  return !product.has(op::dot_bias_act::residual) && product.in(op::dot_bias_act::a).rank() == 2 &&
         product.in(op::dot_bias_act::b).rank() == 2 && (dtype == TENON_F32 || dtype == TENON_BF16);
}

// Elements that one counter decides lie in one row, and of a block's elements few are drawn for in vain.
bool is_drawn_by_rows(const NodeView& product, const NodeView& dropout) {
  const double rate = dropout.f64("rate");
  const int64_t columns = product.out(0).rank() > 0 ? product.out(0).dim(-1) : 0;
  return columns % kDrawn == 0 && (columns <= kWhole || columns % kTogether == 0) && rate >= 0 && rate <= 1 &&
         dropout.in(drop::x).rank() > 0 && dropout.in(drop::x).dim(-1) == columns;
}

// Whether `a` draws again what `b` drew.
bool draws_alike(const NodeView& a, const NodeView& b) {
  return a.op() == "dropout" && !a.has(drop::residual) && a.operand_id(drop::seed) == b.operand_id(drop::seed) &&
         a.operand_id(drop::step) == b.operand_id(drop::step) && a.f64("rate") == b.f64("rate") &&
         a.i64("stream") == b.i64("stream") && a.i64("first") == b.i64("first") && a.has(drop::x) &&
         a.in(drop::x).rank() > 0 && a.in(drop::x).dim(-1) == b.in(drop::x).dim(-1);
}

// What reads x beside `dropout`, each maybe behind a reshape; false: more than one node.
bool find_reader_beside(const Matching& m, uint32_t x, const NodeView& dropout, std::optional<NodeView>* beside) {
  const uint32_t first = dropout.operand_id(drop::x);
  if (first != x && !m.is_only_reader(first, dropout.index())) return false;
  const uint32_t to_dropout = first == x ? dropout.index() : m.maker(first)->index();
  for (const uint32_t r : m.readers(x)) {
    if (r == to_dropout) continue;
    if (*beside || r == TENON_NONE) return false;
    *beside = m.graph().node(r);
  }
  return true;
}

// The gradient of dropout that alone gives the ReLU's gradient its operand.
std::optional<NodeView> find_dropout_grad(const Matching& m, const NodeView& product, const NodeView& dropout,
                                          const NodeView& relu) {
  using relu_grad = op::bias_act_grad;
  const bool is_relu = relu.op() == "bias_act_grad" && relu.index() > dropout.index() &&
                       product.enumerator("act") == TENON_ACT_RELU && relu.enumerator("act") == TENON_ACT_RELU &&
                       relu.operand_id(relu_grad::t) == product.result_id(0);
  if (!is_relu || dropout.has(drop::residual) || dropout.f64("rate") >= 1) return {};
  const uint32_t g = relu.operand_id(relu_grad::g), from = m.before_reshape(g);
  const std::optional<NodeView> grad = m.maker(from);
  if (!grad || grad->index() == dropout.index() || !m.is_free(grad->index()) || !draws_alike(*grad, dropout)) return {};
  if (from != g && !m.is_only_reader(g, relu.index())) return {};
  return m.is_only_reader(from, from == g ? relu.index() : m.maker(g)->index()) ? grad : std::nullopt;
}

// Where the dropout stood: its residual may have been computed after the product.
void add_dropped(const NodeView& product, const NodeView& dropout, Rewrite& to) {
  plugin::GraphBuilder& fused =
      to.add("cpu.dot_dropout",
             {to.operand(product, op::dot_bias_act::a), to.operand(product, op::dot_bias_act::b),
              to.operand(product, op::dot_bias_act::bias), to.operand(dropout, drop::seed),
              to.operand(dropout, drop::step), to.operand(dropout, drop::residual)},
             {to.result(dropout, 0)}, product);
  copy_attributes(fused, product);
  copy_attributes(fused, dropout);
}

void add_dropped_gradient(const NodeView& grad, const NodeView& dropout, const NodeView& relu, Rewrite& to) {
  std::vector<uint32_t> results;
  for (int k = 0; k < relu.results(); ++k) results.push_back(to.result(relu, k));
  to.add("cpu.dropout_relu_grad", {to.operand(grad, drop::x), to.result(dropout, 0)}, results, relu)
      .attr_f64("rate", grad.f64("rate"));
}

void claim_reshape(const Matching& m, uint32_t value, Match* match) {
  if (m.before_reshape(value) != value) match->nodes.push_back(m.maker(value)->index());
}

}  // namespace

// A product and the dropout that takes its result. Where the product ends in a ReLU, the gradients of both as well: they
// follow from what dropout gave, so that the product's result is in no memory and nothing is drawn again.
std::optional<Match> product_dropout(const Matching& m, const NodeView& dropout) {
  if (!dropout.has(drop::x)) return {};
  const uint32_t x = m.before_reshape(dropout.operand_id(drop::x));
  if (dropout.has(drop::residual) && m.before_reshape(dropout.operand_id(drop::residual)) == x) return {};
  const std::optional<NodeView> product = m.maker(x);
  if (!product || !m.is_free(product->index()) || !is_plain_product(*product) || !is_drawn_by_rows(*product, dropout))
    return {};
  std::optional<NodeView> relu;
  if (m.changes_between(*product, dropout) || !find_reader_beside(m, x, dropout, &relu)) return {};
  Match match({product->index(), dropout.index()}, dropout.index(),
              [product, dropout](Rewrite& to) { add_dropped(*product, dropout, to); });
  claim_reshape(m, dropout.operand_id(drop::x), &match);
  if (!relu) return match;
  const std::optional<NodeView> grad = find_dropout_grad(m, *product, dropout, *relu);
  if (!grad) return {};
  match.nodes.insert(match.nodes.end(), {grad->index(), relu->index()});
  match.parts.emplace_back(relu->index(),
                           [grad, dropout, relu](Rewrite& to) { add_dropped_gradient(*grad, dropout, *relu, to); });
  claim_reshape(m, relu->operand_id(op::bias_act_grad::g), &match);
  return match;
}

}  // namespace tenon::cpu
