#include "fuse/patterns.h"
#include "tenon/op/names.h"

namespace tenon::cpu {
namespace {

using conv_op = op::conv_bias_act;  // conv has x and w in the same places
using norm_op = op::batch_norm_apply;

// Convolution and norm of bf16 but for what the norm has of channels, with an activation that its loops know.
bool is_bf16_pair(const NodeView& conv, const NodeView& norm) {
  for (const int k : {conv_op::x, conv_op::w, conv_op::bias})
    if (conv.has(k) && conv.in(k).dtype() != TENON_BF16) return false;
  for (const int k : {norm_op::gamma, norm_op::beta, norm_op::mean, norm_op::var})
    if (norm.in(k).dtype() != TENON_F32) return false;
  const bool residual = !norm.has(norm_op::residual) || norm.in(norm_op::residual).dtype() == TENON_BF16;
  return residual && conv.out(0).dtype() == TENON_BF16 && norm.out(0).dtype() == TENON_BF16 &&
         norm.enumerator("act") <= TENON_ACT_RELU6;
}

void add_conv_norm(const NodeView& conv, const NodeView& norm, Rewrite& to) {
  std::vector<uint32_t> operands{to.operand(conv, conv_op::x), to.operand(conv, conv_op::w),
                                 to.operand(conv, conv_op::bias), to.operand(norm, norm_op::residual)};
  for (int k : {norm_op::gamma, norm_op::beta, norm_op::mean, norm_op::var}) operands.push_back(to.operand(norm, k));
  plugin::GraphBuilder& fused = to.add("cpu.conv_norm", operands, {to.result(norm, 0)}, conv);
  for (int i = 0; i < conv.attributes(); ++i)
    if (conv.attribute_name(i) != "act" && conv.attribute_name(i) != "alpha")
      fused.attr(conv.graph(), conv.attribute(i));
  for (int i = 0; i < norm.attributes(); ++i)
    for (const char* name : {"eps", "act", "alpha"})
      if (norm.attribute_name(i) == name) fused.attr(norm.graph(), norm.attribute(i));
}

}  // namespace

// Where the norm stood: its residual may have been computed after the convolution.
std::optional<Match> conv_norm(const Matching& m, const NodeView& norm) {
  const std::optional<NodeView> conv = m.sole_maker(norm.operand_id(norm_op::x), norm);
  if (!conv || !is_bare_conv(*conv)) return {};
  if (!(is_f32(norm) && is_f32(*conv)) && !is_bf16_pair(*conv, norm)) return {};
  return Match({norm.index(), conv->index()}, norm.index(),
               [conv, norm](Rewrite& to) { add_conv_norm(*conv, norm, to); });
}

}  // namespace tenon::cpu
