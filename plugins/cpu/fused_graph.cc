#include "fused_graph.h"

#include "fuse/patterns.h"
#include "tenon/plugin/pool_patterns.h"

namespace tenon::cpu {

plugin::Rewritten rewrite(const plugin::GraphView& given, const plugin::Env&) {
  // Pads first, and activations: others may take what they became part of.
  plugin::Rewritten first = plugin::rewrite(given, {{"pad", pad_of_reader},
                                                    {"slice", slice_of_gradient},
                                                    {"activation", activated_norm},
                                                    {"activation", swished_norm},
                                                    {"add", norm_with_residual},
                                                    {"batch_norm_grad", activated_norm_grad},
                                                    {"cast", rounding},
                                                    {"cast", cast_in_kernel}});
  const plugin::GraphView graph = plugin::graph_after(first, given);
  std::vector<plugin::Pattern> patterns = plugin::pool_patterns("cpu");
  patterns.insert(patterns.end(), {{"batch_norm", conv_batch_norm},
                                   {"batch_norm_grad", grad_input_batch_norm_grad},
                                   {"cpu.batch_norm_grad", grad_input_batch_norm_grad},
                                   {"batch_norm_apply", conv_norm},
                                   {"dot", update_of_product},
                                   {"dropout", product_dropout},
                                   {"attention", attention_of_rows},
                                   {"mul", exp_of_rows},
                                   {"broadcast", broadcast_channels},
                                   {"activation", activated_sums},
                                   {"add", conv_with_residual},
                                   {"add", product_with_residual}});
  first = plugin::joined(std::move(first), plugin::rewrite(graph, patterns));
  // Whole convolutions, with what stands behind them.
  const plugin::GraphView whole = plugin::graph_after(first, given);
  plugin::Rewritten last = plugin::rewrite(
      whole,
      {{"conv", expanded_depthwise}, {"conv_bias_act", expanded_depthwise}, {"cpu.conv_norm", expanded_depthwise}});
  return plugin::joined(std::move(first), std::move(last));
}

}  // namespace tenon::cpu
