#include "models/transformer_layers.h"

#include <cmath>

namespace tenon::models {
namespace {

Tensor is_no_pad(Tensor tokens) { return compare(tokens, zeros_like(tokens), CompareKind::kNe); }

}  // namespace

std::string layer_name(int64_t i) { return "layer_" + std::to_string(i); }

Tensor shifted(Tensor tokens) {
  const int64_t batch = tokens.dim(0), length = tokens.dim(1);
  return slice(pad(tokens, {0, 1}, {0, 0}, {0, 0}, 0), {0, 0}, {batch, length}, {1, 1});
}

Tensor sinusoidal_positions(Graph& graph, int64_t length, int64_t d) {
  std::vector<float> values(static_cast<size_t>(length * d));
  const int64_t half = d / 2;
  const double step = std::log(1e4) / static_cast<double>(std::max<int64_t>(half - 1, 1));
  for (int64_t t = 0; t < length; ++t)
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(t) * std::exp(-step * static_cast<double>(i));
      values[static_cast<size_t>(t * d + i)] = static_cast<float>(std::sin(angle));
      values[static_cast<size_t>(t * d + half + i)] = static_cast<float>(std::cos(angle));
    }
  const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return constant(graph, {DType::kF32, {length, d}}, bytes);
}

Status check_sizes(const TransformerSizes& sizes) {
  const int64_t d = sizes.hidden;
  if (d >= 2 && d % 2 == 0 && sizes.heads >= 1 && d % sizes.heads == 0) return {};
  return Status(Code::kInvalid, "transformer: the hidden size is " + std::to_string(d) +
                                    ", expected an even multiple of the " + std::to_string(sizes.heads) + " heads");
}

TransformerLayers::TransformerLayers(Tensor any, const TransformerSizes& sizes) : sizes_(sizes) {
  check(check_sizes(sizes));
  const int64_t d = sizes.hidden;
  const double stddev = sizes.stddev > 0 ? sizes.stddev : 1 / std::sqrt(static_cast<double>(d));
  table_ = variable(any, "embeddings", {sizes.vocabulary, d}, random_normal(0, stddev));
}

Tensor TransformerLayers::encode(Tensor source, Tensor more) const {
  const Scope scope(source, "encoder");
  const Tensor mask = seen(source);
  Tensor x = embed(source, more);
  for (int64_t i = 0; i < sizes_.layers; ++i) {
    const Scope layer(source, layer_name(i));
    const Tensor y = normalised(x, "self_attention_norm");
    x = added(x, attend(y, y, mask, false, "self_attention"));
    x = added(x, feed_forward(normalised(x, "feed_forward_norm")));
  }
  return normalised(x, "norm");
}

Tensor TransformerLayers::decode(Tensor target, Tensor source, Tensor memory) const {
  const Scope scope(target, "decoder");
  const Tensor mask = source ? seen(source) : Tensor();
  Tensor x = embed(target);
  for (int64_t i = 0; i < sizes_.layers; ++i) {
    const Scope layer(target, layer_name(i));
    const Tensor y = normalised(x, "self_attention_norm");
    x = added(x, attend(y, y, {}, true, "self_attention"));
    if (memory) x = added(x, attend(normalised(x, "attention_norm"), memory, mask, false, "attention"));
    x = added(x, feed_forward(normalised(x, "feed_forward_norm")));
  }
  return normalised(x, "norm");
}

Tensor TransformerLayers::decode(Tensor target) const { return decode(target, {}, {}); }

Tensor TransformerLayers::logits(Tensor x) const {
  const int64_t d = sizes_.hidden;
  const Tensor rows = dot(reshape(x, {x.elements() / d, d}), cast(table_, x.dtype()), {.tb = true});
  return reshape(rows, {x.dim(0), x.dim(1), sizes_.vocabulary});
}

InitializerRule TransformerLayers::kernel_initializer() const {
  return sizes_.stddev > 0 ? InitializerRule(random_normal(0, sizes_.stddev)) : InitializerRule(&glorot_uniform);
}

Tensor TransformerLayers::places(Tensor any, int64_t length) const {
  if (sizes_.positions == 0) return sinusoidal_positions(*any.graph(), length, sizes_.hidden);
  if (length > sizes_.positions)
    throw Error(Status(Code::kInvalid, "transformer: " + std::to_string(length) + " tokens, expected at most its " +
                                           std::to_string(sizes_.positions) + " places"));
  const Tensor table = variable(any, "positions", {sizes_.positions, sizes_.hidden}, random_normal(0, sizes_.stddev));
  return slice(table, {0, 0}, {length, sizes_.hidden}, {1, 1});
}

Tensor TransformerLayers::embedded(Tensor tokens) const {
  const Tensor rows = gather(table_, tokens, 0);
  const Tensor x = scales_embeddings() ? rows * std::sqrt(static_cast<double>(sizes_.hidden)) : rows;
  return sizes_.pads ? x * reshape(cast(is_no_pad(tokens), x.dtype()), {tokens.dim(0), tokens.dim(1), 1}) : x;
}

Tensor TransformerLayers::embed(Tensor tokens, Tensor more) const {
  Tensor x = embedded(tokens);
  if (more) x = x + cast(more, x.dtype());
  const Tensor placed = x + cast(places(x, tokens.dim(1)), x.dtype());
  return dropout(cast(placed, compute_dtype(tokens)), sizes_.dropout);
}

Tensor TransformerLayers::normalised(Tensor x, const char* name) const {
  return layer_normalization(x, {.epsilon = sizes_.epsilon, .name = name});
}

// x and what a part makes of it, dropped out: one op.
Tensor TransformerLayers::added(Tensor x, Tensor part) const {
  return dropout(part, {.rate = sizes_.dropout, .residual = x});
}

Tensor TransformerLayers::attend(Tensor query, Tensor value, Tensor mask, bool causal, const char* name) const {
  return multi_head_attention(query, value,
                              {.num_heads = sizes_.heads,
                               .key_dim = sizes_.hidden / sizes_.heads,
                               .dropout = sizes_.dropout,
                               .use_bias = sizes_.attention_bias,
                               .kernel_initializer = kernel_initializer(),
                               .name = name,
                               .attention_mask = mask,
                               .use_causal_mask = causal});
}

Tensor TransformerLayers::feed_forward(Tensor x) const {
  const Scope scope(x, "feed_forward");
  const Tensor hidden = dense(x, {.units = sizes_.filter,
                                  .activation = sizes_.activation,
                                  .kernel_initializer = kernel_initializer(),
                                  .name = "filter"});
  return dense(dropout(hidden, sizes_.dropout),
               {.units = sizes_.hidden, .kernel_initializer = kernel_initializer(), .name = "output"});
}

Tensor TransformerLayers::seen(Tensor tokens) const {
  return sizes_.pads ? reshape(is_no_pad(tokens), {tokens.dim(0), 1, tokens.dim(1)}) : Tensor();
}

}  // namespace tenon::models
