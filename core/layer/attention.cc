// MultiHeadAttention, GroupQueryAttention.
#include <cmath>

#include "base/crc32c.h"
#include "layer/object/layer_scope.h"
#include "layer/object/masks.h"
#include "tenon/layer_classes.h"

namespace tenon {
namespace {

// x[B,T,..] by a kernel whose first sizes are those of x[B,T]: as a matrix, whose fans are those that Keras draws with.
Tensor attention_projection(Tensor x, std::string_view name, const Shape& kernel, const Shape& bias,
                            const MultiHeadAttentionOptions& o) {
  const Scope scope(x, name);
  const int64_t out = bias.elements(), in = kernel.elements() / out;
  const Tensor w = weight(x, "kernel", kernel, o.kernel_initializer({in, out}), o.trainable, o.kernel_regularizer,
                          o.kernel_constraint);
  const Tensor b = bias_of(x, bias, o);
  const Tensor y = dot_bias_act(reshape(x, {x.elements() / in, in}), reshape(w, {in, out}),
                                b ? reshape(b, {out}) : Tensor(), {}, linear);
  std::vector<int64_t> dims{x.dim(0), x.dim(1)};
  dims.insert(dims.end(), bias.begin(), bias.end());
  return penalized(reshape(y, Shape(dims)), o);
}

// True where key j is not after query i, counted from the first of both: [1,1,T,S].
Tensor seen_by_causal_query(Graph& graph, int64_t queries, int64_t keys) {
  const Tensor i = iota(graph, DType::kI32, {1, 1, queries, keys}, 2);
  return compare(iota(graph, DType::kI32, i.shape(), 3), i, CompareKind::kLe);
}

// bool[B,N,T,S] with 1 where it repeats, of a mask [T,S], [B,T,S] or [B,N,T,S].
Tensor mask_by_head(const LayerScope& scope, Tensor mask, const Shape& scores) {
  std::vector<int64_t> dims = mask.shape().vec();
  if (dims.size() == 2) dims.insert(dims.begin(), 1);
  if (dims.size() == 3) dims.insert(dims.begin() + 1, 1);
  bool fits = dims.size() == 4;
  for (size_t i = 0; fits && i < 4; ++i) fits = dims[i] == 1 || dims[i] == scores[static_cast<int>(i)];
  scope.expect(fits, "attention_mask is ", mask.type().str(), ", expected [", scores[0], ",", scores[2], ",", scores[3],
               "], or 1 where it repeats");
  return cast(reshape(mask, Shape(dims)), DType::kBool);
}

Tensor both_see(Tensor a, Tensor b) {
  if (!a || !b) return a ? a : b;
  const Shape both = broadcast_shapes(a.shape(), b.shape());
  return minimum(broadcast_to(a, both), broadcast_to(b, both));
}

// Steps that count, of queries and of keys: [B,1,T,1], [B,1,1,S] or both; absent where no tensor has a mask.
Tensor seen_by_steps(Tensor query, Tensor value, Tensor key) {
  const auto along = [](Tensor x, int axis) {
    const Tensor mask = mask_of(x);
    if (!mask) return Tensor();
    if (mask.rank() != 2) fail("multi_head_attention: the mask of ", x.type().str(), " is ", mask.type().str());
    std::vector<int64_t> dims{mask.dim(0), 1, 1, 1};
    dims[static_cast<size_t>(axis)] = mask.dim(1);
    return reshape(mask, Shape(dims));
  };
  return both_see(along(query, 2), both_see(along(value, 3), along(key, 3)));
}

// 0 where a query sees a key, else what makes its share of the softmax 0.
Tensor mask_bias(Tensor mask, DType dtype) {
  Graph& graph = *mask.graph();
  const double hidden = dtype == DType::kF16 ? -3e4 : -1e9;
  return select(mask, full(graph, dtype, mask.shape(), 0), full(graph, dtype, mask.shape(), hidden));
}

void check_attention(const LayerScope& scope, Tensor query, Tensor key, Tensor value,
                     const MultiHeadAttentionOptions& o) {
  scope.expect_size("num_heads", o.num_heads);
  scope.expect_size("key_dim", o.key_dim);
  scope.expect_size("value_dim", o.value_dim, 0);  // 0: key_dim
  scope.expect_size("output_shape", o.output_shape, 0);
  scope.expect(o.dropout >= 0 && o.dropout < 1, "dropout is ", o.dropout, ", expected 0 to less than 1");
  scope.expect_float(query, 3, 3);
  const auto expect_beside = [&](const char* what, Tensor x, int64_t length) {
    const bool fits = x && x.dtype() == query.dtype() && x.rank() == 3 && x.elements() > 0 &&
                      x.dim(0) == query.dim(0) && (length == 0 || x.dim(1) == length);
    scope.expect(fits, what, " is ", x ? x.type().str() : "nothing", ", expected ", dtype_name(query.dtype()), "[",
                 query.dim(0), ",", length ? std::to_string(length) : "..", ",..] for the query ", query.type().str());
  };
  expect_beside("value", value, 0);
  expect_beside("key", key, value.dim(1));
}

// Keys and values have `shared` heads, each for several of the queries'.
Tensor attended(const LayerScope& scope, Tensor query, Tensor value, const MultiHeadAttentionOptions& o,
                int64_t shared) {
  const Tensor key = o.key ? o.key : value;
  check_attention(scope, query, key, value, o);
  const int64_t heads = o.num_heads, value_dim = o.value_dim ? o.value_dim : o.key_dim;
  const int64_t queries = query.dim(1), keys = key.dim(1), out = o.output_shape ? o.output_shape : query.dim(2);
  const auto by_head = [&](Tensor x, const char* name, int64_t each, int64_t size) {
    return attention_projection(x, name, {x.dim(2), each, size}, {each, size}, o);
  };
  const Tensor q = by_head(query, "query", heads, o.key_dim), k = by_head(key, "key", shared, o.key_dim);
  const Tensor v = by_head(value, "value", shared, value_dim);

  Graph& graph = *query.graph();
  const Shape scores{query.dim(0), heads, queries, keys};
  Tensor mask = both_see(seen_by_steps(query, value, o.key),
                         o.attention_mask ? mask_by_head(scope, o.attention_mask, scores) : Tensor());
  // The op counts from the last of both, Keras from the first; and a query that does not count sees all keys alike.
  const bool own_mask = o.use_causal_mask && (queries != keys || mask_of(query));
  if (own_mask) {
    mask = both_see(mask, seen_by_causal_query(graph, queries, keys));
  }
  const bool drops = mode_of(query) == Mode::kTrain && o.dropout > 0;
  const Tensor y = attention(q, k, v, mask ? mask_bias(mask, q.dtype()) : Tensor(),
                             drops ? seed_input(graph) : Tensor(), drops ? draw_step(graph) : Tensor(),
                             {.scale = 1 / std::sqrt(static_cast<double>(o.key_dim)),
                              .causal = o.use_causal_mask && !own_mask,
                              .rate = drops ? o.dropout : 0,
                              .stream = drops ? crc32c(scope.call()) : 0})
                       .y;
  return with_mask_of(query, attention_projection(y, "attention_output", {heads, value_dim, out}, {out}, o));
}

// What an object is called with beside the query and the value.
template <class Options>
Options with_inputs(const char* layer, const std::string& name, const Tensors& xs, Options o) {
  if (xs.size() < 2 || xs.size() > 4)
    fail(layer, " '", name, "': is called with ", xs.size(), xs.size() == 1 ? " tensor" : " tensors",
         ", expected {query, value}, a key or not, a mask or not");
  if (xs.size() > 2) o.key = xs[2];
  if (xs.size() > 3) o.attention_mask = xs[3];
  return o;
}

}  // namespace

Tensor multi_head_attention(Tensor query, Tensor value, const MultiHeadAttentionOptions& o) {
  return attended(LayerScope(query, "multi_head_attention", o.name), query, value, o, o.num_heads);
}

Tensor group_query_attention(Tensor query, Tensor value, const GroupQueryAttentionOptions& o) {
  const LayerScope scope(query, "grouped_query_attention", o.name);
  scope.expect_size("head_dim", o.head_dim);
  scope.expect_size("num_query_heads", o.num_query_heads);
  scope.expect_size("num_key_value_heads", o.num_key_value_heads);
  scope.expect(o.num_query_heads % o.num_key_value_heads == 0, "num_query_heads is ", o.num_query_heads,
               ", expected a multiple of num_key_value_heads, ", o.num_key_value_heads);
  return attended(scope, query, value,
                  {.num_heads = o.num_query_heads,
                   .key_dim = o.head_dim,
                   .dropout = o.dropout,
                   .use_bias = o.use_bias,
                   .kernel_initializer = o.kernel_initializer,
                   .bias_initializer = o.bias_initializer,
                   .kernel_regularizer = o.kernel_regularizer,
                   .bias_regularizer = o.bias_regularizer,
                   .activity_regularizer = o.activity_regularizer,
                   .kernel_constraint = o.kernel_constraint,
                   .bias_constraint = o.bias_constraint,
                   .trainable = o.trainable,
                   .key = o.key,
                   .attention_mask = o.attention_mask,
                   .use_causal_mask = o.use_causal_mask},
                  o.num_key_value_heads);
}

Tensor MultiHeadAttention::call(const Tensors& xs) {
  const MultiHeadAttentionOptions o = with_inputs("multi_head_attention", name(), xs, options_);
  return multi_head_attention(xs[0], xs[1], o);
}

Tensor GroupQueryAttention::call(const Tensors& xs) {
  const GroupQueryAttentionOptions o = with_inputs("grouped_query_attention", name(), xs, options_);
  return group_query_attention(xs[0], xs[1], o);
}

}  // namespace tenon
