// Attention, with heads and without.
#include "tenon/attention.h"

#include "unit/layer/keras/keras_layers.h"

namespace tenon::golden {
namespace {

template <class Layer, class Options>
Call attends(const Options& o) {
  return [=](const Tensors& xs) { return Tensors{Layer(o)(xs)}; };
}

}  // namespace

void add_keras_attention(std::map<std::string, Call>& m) {
  m["MultiHeadAttention(2, 3)"] =
      attends<MultiHeadAttention>(MultiHeadAttentionOptions{.num_heads = 2, .key_dim = 3});
  m["MultiHeadAttention(2, 3, value_dim=2, output_shape=4, use_bias=False)"] =
      attends<MultiHeadAttention>(MultiHeadAttentionOptions{.num_heads = 2,
                                                            .key_dim = 3,
                                                            .value_dim = 2,
                                                            .use_bias = false,
                                                            .output_shape = 4,
                                                            .use_causal_mask = true});
  m["GroupQueryAttention(3, 4, 2)"] = attends<GroupQueryAttention>(
      GroupQueryAttentionOptions{.head_dim = 3, .num_query_heads = 4, .num_key_value_heads = 2});
  m["Attention()"] = attends<Attention>(DotAttentionOptions());
  m["Attention() @ 2x4x3 2x4x3"] = attends<Attention>(DotAttentionOptions{.use_causal_mask = true});
  m["Attention(use_scale=True)"] = attends<Attention>(DotAttentionOptions{.use_scale = true});
  m["Attention(use_scale=True, score_mode='concat')"] =
      attends<Attention>(DotAttentionOptions{.use_scale = true, .score_mode = ScoreMode::kConcat});
  m["AdditiveAttention()"] = attends<AdditiveAttention>(AdditiveAttentionOptions());
  m["AdditiveAttention(use_scale=False)"] = attends<AdditiveAttention>(AdditiveAttentionOptions{.use_scale = false});
}

}  // namespace tenon::golden
