// The patterns of nodes that one node of cpu.so's own takes the place of (fused_graph.h lists them). Each function is asked
// about the last node of its pattern.
#pragma once

#include <string_view>

#include "tenon/op/names.h"
#include "tenon/plugin/matcher.h"

namespace tenon::cpu {

using plugin::copy_attributes;
using plugin::Match;
using plugin::Matching;
using plugin::NodeView;
using plugin::Rewrite;

std::optional<Match> pad_of_reader(const Matching& m, const NodeView& pad);
std::optional<Match> broadcast_channels(const Matching& m, const NodeView& broadcast);
std::optional<Match> slice_of_gradient(const Matching& m, const NodeView& slice);
std::optional<Match> rounding(const Matching& m, const NodeView& narrowing);
std::optional<Match> cast_in_kernel(const Matching& m, const NodeView& cast);
std::optional<Match> activated_norm(const Matching& m, const NodeView& activation);
std::optional<Match> norm_with_residual(const Matching& m, const NodeView& sum);
std::optional<Match> swished_norm(const Matching& m, const NodeView& activation);
std::optional<Match> activated_norm_grad(const Matching& m, const NodeView& norm);
std::optional<Match> conv_batch_norm(const Matching& m, const NodeView& norm);
std::optional<Match> grad_input_batch_norm_grad(const Matching& m, const NodeView& norm);
std::optional<Match> conv_norm(const Matching& m, const NodeView& norm);
std::optional<Match> expanded_depthwise(const Matching& m, const NodeView& depthwise);
std::optional<Match> exp_of_rows(const Matching& m, const NodeView& product);
std::optional<Match> update_of_product(const Matching& m, const NodeView& dot);
std::optional<Match> product_dropout(const Matching& m, const NodeView& dropout);
std::optional<Match> attention_of_rows(const Matching& m, const NodeView& attention);
std::optional<Match> activated_sums(const Matching& m, const NodeView& activation);
std::optional<Match> conv_with_residual(const Matching& m, const NodeView& sum);
std::optional<Match> product_with_residual(const Matching& m, const NodeView& sum);

// Updates by rules that take an element at a time, whatever the others are.
bool takes_blocks(std::string_view op);

// All operands of the node and its first result are.
inline bool is_f32(const NodeView& node) {
  for (int k = 0; k < node.operands(); ++k)
    if (node.has(k) && node.in(k).dtype() != TENON_F32) return false;
  return node.out(0).dtype() == TENON_F32;
}

// A convolution without activation or residual; it may have a bias.
inline bool is_bare_conv(const NodeView& node) {
  return (node.op() == "conv" || node.op() == "conv_bias_act") && node.enumerator("act") == TENON_ACT_NONE &&
         !node.has(op::conv_bias_act::residual);
}

}  // namespace tenon::cpu
