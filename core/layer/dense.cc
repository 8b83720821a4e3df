// Dense, Dropout, SpatialDropout1D, SpatialDropout2D, Embedding.
#include "base/crc32c.h"
#include "layer/object/layer_scope.h"
#include "layer/object/masks.h"

namespace tenon {
namespace {

void expect_rate(const LayerScope& scope, double rate) {
  scope.expect(rate >= 0 && rate <= 1, "rate is ", rate, ", expected 0 to 1");
}

// x of that rank, with one draw for each sample and channel.
Tensor channel_dropout(Tensor x, const char* layer, int rank, const SpatialDropoutOptions& o) {
  const LayerScope scope(x, layer, o.name.empty() ? layer : o.name.c_str());
  const double rate = o.rate;
  expect_rate(scope, rate);
  scope.expect_float(x, rank, rank);
  if (mode_of(x) != Mode::kTrain || rate == 0) return x;
  Graph& graph = *x.graph();
  const Tensor draw = random(seed_input(graph), draw_step(graph), crc32c(scope.call()), {x.dim(0), x.dim(-1)}, true);
  const Tensor kept = compare(draw, scalar_like(draw, rate), CompareKind::kGe);
  const Tensor scaled = rate < 1 ? x * (1 / (1 - rate)) : x;
  return with_mask_of(x, select(broadcast(kept, x.shape(), {0, rank - 1}), scaled, scalar_like(x, 0)));
}

}  // namespace

Tensor dense(Tensor x, const DenseOptions& o) {
  const LayerScope scope(x, "dense", o.name);
  scope.expect_size("units", o.units);
  x = scope.as_float(x, 2);
  scope.expect_static(x, -1);
  const int64_t in = x.dim(-1);
  const Tensor kernel =
      weight(x, "kernel", {in, o.units}, o.kernel_initializer, o.trainable, o.kernel_regularizer, o.kernel_constraint);
  const Tensor bias = bias_of(x, {o.units}, o);
  std::vector<int64_t> out = x.shape().vec();
  out.back() = o.units;
  const Tensor rows = reshape(x, {x.elements() / in, in});
  const Activation act = o.activation.fused();
  const Tensor y = reshape(dot_bias_act(rows, kernel, bias, {}, act, default_alpha(act)), Shape(out));
  return with_mask_of(x, penalized(o.activation.after(y), o));
}

Tensor dropout(Tensor x, double rate) { return dropout(x, DropoutOptions{.rate = rate}); }

Tensor dropout(Tensor x, const DropoutOptions& o) {
  const LayerScope scope(x, "dropout", o.name);
  expect_rate(scope, o.rate);
  scope.expect_float(x, 0);
  if (o.residual)
    scope.expect(o.residual.type() == x.type(), "residual is ", o.residual.type().str(), ", expected ", x.type().str());
  if (mode_of(x) != Mode::kTrain || o.rate == 0) return o.residual ? with_mask_of(x, add(x, o.residual)) : x;
  Graph& graph = *x.graph();
  return with_mask_of(x, dropout(x, seed_input(graph), draw_step(graph), o.residual, o.rate, crc32c(scope.call())));
}

Tensor spatial_dropout1d(Tensor x, double rate) { return spatial_dropout1d(x, SpatialDropoutOptions{.rate = rate}); }

Tensor spatial_dropout1d(Tensor x, const SpatialDropoutOptions& o) {
  return channel_dropout(x, "spatial_dropout1d", 3, o);
}

Tensor spatial_dropout2d(Tensor x, double rate) { return spatial_dropout2d(x, SpatialDropoutOptions{.rate = rate}); }

Tensor spatial_dropout2d(Tensor x, const SpatialDropoutOptions& o) {
  return channel_dropout(x, "spatial_dropout2d", 4, o);
}

Tensor embedding(Tensor indices, const EmbeddingOptions& o) {
  const LayerScope scope(indices, "embedding", o.name);
  indices = as_indices(indices);
  scope.expect(is_integer(indices.dtype()), "indices are ", indices.type().str(), ", expected i32, i64 or f32");
  scope.expect_size("input_dim", o.input_dim);
  scope.expect_size("output_dim", o.output_dim);
  const Shape shape{o.input_dim, o.output_dim};
  const Tensor rows = gather(parameter(indices, "embeddings", shape, o.embeddings_initializer, o.trainable,
                                       o.embeddings_regularizer, o.embeddings_constraint),
                             indices, 0);
  const Tensor y = cast(rows, compute_dtype(indices));
  if (o.mask_zero) set_mask(y, indices);
  return y;
}

}  // namespace tenon
