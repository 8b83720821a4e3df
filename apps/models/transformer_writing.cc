// A Transformer that writes a token at a time: keys and values of what was written are kept, those of what was read are made once.
#include <cmath>

#include "models/transformer_layers.h"

namespace tenon::models {
namespace {

constexpr double kHidden = -1e9;  // a score that nothing attends to

// kHidden where the condition is false.
Tensor bias_of(Tensor condition) {
  const Tensor zero = full(*condition.graph(), DType::kF32, condition.shape(), 0);
  return select(condition, zero, full_like(zero, kHidden));
}

}  // namespace

Features TransformerLayers::begin_writing(Tensor source, int64_t max_length) const {
  const int64_t batch = source.dim(0), heads = sizes_.heads;
  Features out;
  const Tensor memory = encode(source);
  const Tensor no_pad = compare(source, zeros_like(source), CompareKind::kNe);
  out.set("source_bias", bias_of(reshape(no_pad, {batch, 1, 1, source.dim(1)})));
  const Scope scope(source, "decoder");
  const Tensor nothing = full(*source.graph(), memory.dtype(), {batch, max_length, heads, sizes_.hidden / heads}, 0);
  for (int64_t i = 0; i < sizes_.layers; ++i) {
    const Scope layer(source, layer_name(i));
    out.set(layer_name(i) + "/source_keys", projected(memory, "attention", "key"));
    out.set(layer_name(i) + "/source_values", projected(memory, "attention", "value"));
    out.set(layer_name(i) + "/keys", nothing);
    out.set(layer_name(i) + "/values", nothing);
  }
  return out;
}

Features TransformerLayers::begin_text(Tensor like, int64_t max_length) const {
  Features out;
  const Shape cache{like.dim(0), max_length, sizes_.heads, sizes_.hidden / sizes_.heads};
  for (int64_t i = 0; i < sizes_.layers; ++i)
    for (const char* part : {"/keys", "/values"})
      out.set(layer_name(i) + part, full(*like.graph(), compute_dtype(like), cache, 0));
  return out;
}

Tensor TransformerLayers::place_of(Tensor position, int64_t length) const {
  return reshape(gather(places(position, length), reshape(position, {1}), 0), {1, 1, sizes_.hidden});
}

Tensor TransformerLayers::next_logits(Tensor token, Tensor position, DecodeState& state) const {
  const int64_t rows = token.dim(0);
  const Tensor tokens = reshape(token, {rows, 1});
  const bool reads = state.has("source_bias");
  const Scope scope(token, "decoder");
  const Tensor place = place_of(position, state["layer_0/keys"].dim(1)), rows_of = embedded(tokens);
  Tensor x = cast(rows_of + cast(place, rows_of.dtype()), compute_dtype(token));
  for (int64_t i = 0; i < sizes_.layers; ++i) {
    const Scope layer(token, layer_name(i));
    const std::string name = layer_name(i);
    x = x + with_caches(normalised(x, "self_attention_norm"), position, state, name);
    if (reads)
      x = x + attend_one(normalised(x, "attention_norm"), state[name + "/source_keys"], state[name + "/source_values"],
                         state["source_bias"], "attention");
    x = x + feed_forward(normalised(x, "feed_forward_norm"));
  }
  return reshape(logits(normalised(x, "norm")), {rows, sizes_.vocabulary});
}

Tensor TransformerLayers::projected(Tensor x, const char* attention, const char* name) const {
  const Scope scope(x, attention);
  const int64_t d = sizes_.hidden, heads = sizes_.heads, each = d / heads;
  const Tensor kernel = variable(x, std::string(name) + "/kernel", {d, heads, each}, zeros());  // the checkpoint has it
  const Tensor y = dot(reshape(x, {x.elements() / d, d}), cast(reshape(kernel, {d, d}), x.dtype()));
  const Tensor heads_of = reshape(y, {x.dim(0), x.dim(1), heads, each});
  if (!sizes_.attention_bias) return heads_of;
  return heads_of + cast(variable(x, std::string(name) + "/bias", {heads, each}, zeros()), x.dtype());
}

Tensor TransformerLayers::attend_one(Tensor x, Tensor keys, Tensor values, Tensor bias, const char* name) const {
  const int64_t d = sizes_.hidden;
  const Tensor q = projected(x, name, "query");
  const double scale = 1 / std::sqrt(static_cast<double>(d / sizes_.heads));
  const Tensor y = attention(q, keys, values, cast(bias, q.dtype()), {}, {}, {.scale = scale}).y;
  const Scope scope(x, name);
  const Tensor kernel = variable(x, "attention_output/kernel", {sizes_.heads, d / sizes_.heads, d}, zeros());
  const Tensor out = reshape(dot(reshape(y, {x.dim(0), d}), cast(reshape(kernel, {d, d}), x.dtype())), x.shape());
  if (!sizes_.attention_bias) return out;
  return out + cast(variable(x, "attention_output/bias", {d}, zeros()), x.dtype());
}

// Self attention of one token, whose key and value are kept with those before it.
Tensor TransformerLayers::with_caches(Tensor x, Tensor position, DecodeState& state, const std::string& layer) const {
  const Tensor keys = state.append(layer + "/keys", projected(x, "self_attention", "key"));
  const Tensor values = state.append(layer + "/values", projected(x, "self_attention", "value"));
  const Tensor place = iota(*x.graph(), DType::kI32, {1, 1, 1, keys.dim(1)}, 3);
  const Tensor seen = compare(place, broadcast_to(position, place.shape()), CompareKind::kLe);
  return attend_one(x, keys, values, bias_of(seen), "self_attention");
}

}  // namespace tenon::models
