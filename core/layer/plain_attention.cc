// Attention, AdditiveAttention.
#include <functional>

#include "layer/object/layer_scope.h"
#include "layer/object/masks.h"
#include "tenon/attention.h"

namespace tenon {
namespace {

template <class Options>
Tensor checked_key(const LayerScope& scope, Tensor query, Tensor value, const Options& o) {
  scope.expect(o.dropout >= 0 && o.dropout < 1, "dropout is ", o.dropout, ", expected 0 to less than 1");
  scope.expect_float(query, 3, 3);
  const Tensor key = o.key ? o.key : value;
  const auto expect_like_query = [&](const char* what, Tensor x, int64_t depth) {
    const bool fits = x && x.dtype() == query.dtype() && x.rank() == 3 && x.elements() > 0 &&
                      x.dim(0) == query.dim(0) && (depth == 0 || x.dim(2) == depth) && x.dim(1) == value.dim(1);
    scope.expect(fits, what, " is ", x ? x.type().str() : "nothing", " for the query ", query.type().str());
  };
  scope.expect(static_cast<bool>(value), "value was never set");
  scope.expect(value.rank() == 3, "value is ", value.type().str(), ", expected rank 3");
  expect_like_query("value", value, 0);
  expect_like_query("key", key, query.dim(2));
  return key;
}

// f(q + k), summed over D with these weights: q[B,T,D], k[B,S,D] -> [B,T,S].
Tensor summed_scores(Tensor query, Tensor key, const std::function<Tensor(Tensor)>& of_sum) {
  const Tensor q = reshape(query, {query.dim(0), query.dim(1), 1, query.dim(2)});
  const Tensor k = reshape(key, {key.dim(0), 1, key.dim(1), key.dim(2)});
  return reduce_sum(of_sum(q + k), {3});
}

// Scores [B,T,S] of what is not to be seen become so low that the softmax makes them 0, as Keras does it.
Tensor seen_scores(Tensor scores, Tensor value, bool causal) {
  Graph& graph = *scores.graph();
  Tensor seen;
  if (const Tensor mask = mask_of(value))
    seen = broadcast(reshape(mask, {mask.dim(0), 1, mask.dim(1)}), scores.shape(), {0, 1, 2});
  if (causal) {
    const Shape one{1, scores.dim(1), scores.dim(2)};
    const Tensor before = compare(iota(graph, DType::kI32, one, 2), iota(graph, DType::kI32, one, 1), CompareKind::kLe);
    const Tensor all = broadcast(before, scores.shape(), {0, 1, 2});
    seen = seen ? minimum(seen, all) : all;
  }
  const double lower = scores.dtype() == DType::kF16 ? 65504.0 : 1e9;
  return seen ? select(seen, scores, scores - lower) : scores;
}

// Keys that the query sees, weighed: [B,T,S] by [B,S,D]. Steps of the query that do not count give 0.
template <class Options>
Tensor read_values(Tensor query, Tensor value, Tensor scores, const Options& o) {
  Tensor weights = softmax(seen_scores(scores, value, o.use_causal_mask));
  if (o.dropout > 0) weights = dropout(weights, o.dropout);
  const Tensor y = with_mask_of(query, dot(weights, value));
  return mask_of(query) ? with_mask_of(query, counted_steps(y)) : y;
}

template <class Options>
Options with_key(const char* layer, const std::string& name, const Tensors& xs, Options o) {
  if (xs.size() < 2 || xs.size() > 3)
    fail(layer, " '", name, "': is called with ", xs.size(), xs.size() == 1 ? " tensor" : " tensors",
         ", expected {query, value}, a key or not");
  if (xs.size() > 2) o.key = xs[2];
  return o;
}

}  // namespace

Tensor dot_attention(Tensor query, Tensor value, const DotAttentionOptions& o) {
  const LayerScope scope(query, "attention", o.name);
  scope.expect_value_of("score_mode", o.score_mode, ScoreMode::kConcat);
  const Tensor key = checked_key(scope, query, value, o);
  const Tensor scale = o.use_scale ? weight(query, "scale", {}, ones(), o.trainable) : Tensor();
  const auto scaled = [&](Tensor t) { return scale ? t * broadcast(scale, t.shape(), {}) : t; };
  if (o.score_mode == ScoreMode::kDot) return read_values(query, value, scaled(dot(query, key, {.tb = true})), o);
  const Tensor by = weight(query, "concat_score_weight", {}, ones(), o.trainable);
  const Tensor scores = summed_scores(query, key, [&](Tensor sum) { return tanh(scaled(sum)); });
  return read_values(query, value, scores * broadcast(by, scores.shape(), {}), o);
}

Tensor additive_attention(Tensor query, Tensor value, const AdditiveAttentionOptions& o) {
  const LayerScope scope(query, "additive_attention", o.name);
  const Tensor key = checked_key(scope, query, value, o);
  const Tensor scale = o.use_scale ? weight(query, "scale", {query.dim(2)}, &glorot_uniform, o.trainable) : Tensor();
  const Tensor scores = summed_scores(query, key, [&](Tensor sum) {
    const Tensor bent = tanh(sum);
    return scale ? bent * broadcast(scale, bent.shape(), {3}) : bent;
  });
  return read_values(query, value, scores, o);
}

Tensor Attention::call(const Tensors& xs) {
  const DotAttentionOptions o = with_key("attention", name(), xs, options_);
  return dot_attention(xs[0], xs[1], o);
}

Tensor AdditiveAttention::call(const Tensors& xs) {
  const AdditiveAttentionOptions o = with_key("additive_attention", name(), xs, options_);
  return additive_attention(xs[0], xs[1], o);
}

}  // namespace tenon
