#include <algorithm>
#include <string_view>
#include <vector>

#include "fuse/patterns.h"
#include "own_nodes.h"
#include "tenon/op/names.h"

namespace tenon::cpu {
namespace {

// Whether the norm is of f32, or of bf16 with moments of f32 and at most a ReLU or ReLU6 behind it, within this process. x
// and gamma are the places of these operands.
bool is_plain(const NodeView& norm, int x, int gamma) {
  const int32_t dtype = norm.in(x).dtype();
  return (dtype == TENON_F32 || dtype == TENON_BF16) && norm.in(gamma).dtype() == TENON_F32 &&
         norm.i64("group", 1) == 1 && (norm.enumerator("act") <= TENON_ACT_RELU6 || dtype == TENON_F32);
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

void add_forward(const NodeView& conv, const NodeView& norm, Rewrite& to) {
  using op::batch_norm;
  using conv_op = op::conv_bias_act;  // conv has x and w in the same places
  std::vector<uint32_t> operands, results{to.result(conv, 0)};
  for (int k : {conv_op::x, conv_op::w, conv_op::bias}) operands.push_back(to.operand(conv, k));
  for (int k : {batch_norm::gamma, batch_norm::beta, batch_norm::residual})
    if (norm.has(k)) operands.push_back(to.operand(norm, k));
  for (int k : {batch_norm::out::y, batch_norm::out::mean, batch_norm::out::var}) results.push_back(to.result(norm, k));
  copy_both(to.add("cpu.batch_norm.conv", operands, results, norm), conv, norm);
}

// The gradient of a convolution's input that only `reader` reads.
std::optional<NodeView> sole_grad_input(const Matching& m, uint32_t value, const NodeView& reader) {
  const std::optional<NodeView> node = m.sole_maker(value, reader);
  return node && node->op() == "conv_grad_input" && is_uniform(*node) ? node : std::nullopt;
}

// What a norm's gradient takes from a convolution's: `other` is what `sum` adds to it on the way.
struct Source {
  std::optional<NodeView> conv, sum;
  uint32_t other = TENON_NONE;
};

Source find_source(const Matching& m, const NodeView& norm) {
  const uint32_t dy = norm.operand_id(op::batch_norm_grad::dy);
  Source s{sole_grad_input(m, dy, norm), {}};
  if (s.conv) return s;
  const std::optional<NodeView> sum = m.sole_maker(dy, norm);
  if (!sum || sum->op() != "add" || sum->in(op::add::a).elements() != sum->in(op::add::b).elements()) return s;
  for (int k = 0; k < 2 && !s.conv; ++k) {
    s.conv = sole_grad_input(m, sum->operand_id(k), *sum);
    s.other = sum->operand_id(1 - k);
  }
  s.sum = sum;
  return s;
}

// The reduce of the norm's gradient over all of its rows: that of a convolution's bias.
std::optional<NodeView> find_bias_gradient(const Matching& m, const NodeView& norm) {
  for (const uint32_t r : m.readers(norm.result_id(op::batch_norm_grad::out::dx))) {
    if (r == TENON_NONE || !m.is_free(r)) continue;
    const NodeView node = m.graph().node(r);
    const plugin::ValueView x = node.in(op::reduce::x);
    const auto axes = node.list("axes");
    if (node.op() == "reduce" && node.enumerator("kind") == TENON_REDUCE_SUM && node.out(0).dtype() == x.dtype() &&
        node.out(0).elements() == x.dim(-1) && std::count(axes.begin(), axes.end(), x.rank() - 1) == 0)
      return node;
  }
  return {};
}

// The norm that made y from x without a residual: the activation's mask then follows from x.
uint32_t beta_of(const Matching& m, const NodeView& grad) {
  using from = op::batch_norm;
  using to = op::batch_norm_grad;
  const std::optional<NodeView> norm = grad.has(to::y) ? m.maker(grad.operand_id(to::y)) : std::nullopt;
  if (!norm || norm->op() != "batch_norm" || norm->has(from::residual)) return TENON_NONE;
  const bool same =
      norm->enumerator("act") == grad.enumerator("act") && norm->operand_id(from::x) == grad.operand_id(to::x) &&
      norm->operand_id(from::gamma) == grad.operand_id(to::gamma) &&
      norm->result_id(from::out::y) == grad.operand_id(to::y) &&
      norm->result_id(from::out::mean) == grad.operand_id(to::mean) &&
      norm->result_id(from::out::var) == grad.operand_id(to::var) && norm->f64("eps", 1e-3) == grad.f64("eps", 1e-3);
  return same ? norm->operand_id(from::beta) : TENON_NONE;
}

void add_gradient(const Source& s, const NodeView& norm, uint32_t beta, const std::optional<NodeView>& bias,
                  Rewrite& to) {
  using conv_grad = op::conv_grad_input;
  using grad = op::batch_norm_grad;
  std::vector<uint32_t> operands{to.operand(*s.conv, conv_grad::dy), to.operand(*s.conv, conv_grad::w),
                                 to.value(s.other)},
      results;
  for (int k : {grad::x, grad::gamma, grad::mean, grad::var}) operands.push_back(to.operand(norm, k));
  operands.push_back(beta == TENON_NONE ? to.operand(norm, grad::y) : TENON_NONE);
  if (beta != TENON_NONE) operands.push_back(to.value(beta));
  for (int k = 0; k < norm.results(); ++k) results.push_back(to.result(norm, k));
  if (bias) {
    results.resize(4, TENON_NONE);
    results.push_back(to.result(*bias, 0));
  }
  copy_both(to.add("cpu.batch_norm.grad_input", operands, results, norm), *s.conv, norm);
}

}  // namespace

std::optional<Match> conv_batch_norm(const Matching& m, const NodeView& norm) {
  const uint32_t t = norm.operand_id(op::batch_norm::x);
  const std::optional<NodeView> conv = m.maker(t);
  if (!conv || !m.is_free(conv->index()) || !is_plain(norm, op::batch_norm::x, op::batch_norm::gamma)) return {};
  if (!is_bare_conv(*conv) || !is_uniform(*conv) || m.changes_between(*conv, norm)) return {};
  for (const uint32_t r : m.readers(t))
    if (r < norm.index()) return {};
  return Match({norm.index(), conv->index()}, norm.index(),
               [conv, norm](Rewrite& to) { add_forward(*conv, norm, to); });
}

std::optional<Match> grad_input_batch_norm_grad(const Matching& m, const NodeView& norm) {
  using grad = op::batch_norm_grad;
  const bool swished = norm.op() == "cpu.batch_norm_grad";  // fuse_activations.cc
  if (!swished && norm.enumerator("act") > TENON_ACT_RELU6) return {};
  if (!is_plain(norm, grad::x, grad::gamma) || norm.in(grad::dy).dtype() != norm.in(grad::x).dtype()) return {};
  const Source source = find_source(m, norm);
  if (!source.conv || m.changes_between(*source.conv, norm)) return {};
  const std::optional<NodeView> bias = find_bias_gradient(m, norm);
  const uint32_t beta = swished                                    ? norm.operand_id(own::batch_norm_grad::beta)
                        : norm.enumerator("act") != TENON_ACT_NONE ? beta_of(m, norm)
                                                                   : TENON_NONE;
  Match match({norm.index(), source.conv->index()}, norm.index(),
              [=](Rewrite& to) { add_gradient(source, norm, beta, bias, to); });
  for (const auto& more : {source.sum, bias})
    if (more) match.nodes.push_back(more->index());
  return match;
}

}  // namespace tenon::cpu
