// Dense, Dropout, Flatten, Embedding, Activation.
#include "base/crc32c.h"
#include "layer/layer.h"
#include "op/rules.h"

namespace tenon {

Tensor dense(Tensor x, const DenseOptions& o) {
  const LayerScope scope(x, o.name);
  if (o.units < 1) scope.fail("dense", "units is ", o.units, ", expected 1 or more");
  if (x.rank() < 2 || !is_float(x.dtype())) scope.fail("dense", "input is ", x.type().str(), ", expected a float of rank 2 or more");
  const int64_t in = x.dim(-1);
  const Tensor kernel = weight(x, "kernel", {in, o.units}, o.kernel_initializer, o.trainable, o.kernel_regularizer);
  const Tensor bias = o.use_bias ? weight(x, "bias", {o.units}, o.bias_initializer, o.trainable) : Tensor();
  std::vector<int64_t> out = x.shape().vec();
  out.back() = o.units;
  const Tensor rows = reshape(x, {x.elements() / in, in});
  return reshape(dot_bias_act(rows, kernel, bias, {}, o.activation), Shape(out));
}

Tensor dropout(Tensor x, double rate, Mode mode, std::string_view name) {
  if (!(rate >= 0 && rate < 1)) fail("dropout '", name, "': rate is ", rate, ", expected 0 to below 1");
  if (mode != Mode::kTrain || rate == 0) return x;
  const LayerScope scope(x, name);
  Graph& graph = *x.graph();
  return dropout(x, seed_input(graph), global_step(graph), {}, rate, crc32c(scope.name()));
}

Tensor flatten(Tensor x) {
  if (x.rank() < 1) fail("flatten: input is a scalar");
  return reshape(x, {x.dim(0), x.elements() / x.dim(0)});
}

Tensor embedding(Tensor indices, const EmbeddingOptions& o) {
  const LayerScope scope(indices, o.name);
  if (!is_integer(indices.dtype())) scope.fail("embedding", "indices are ", indices.type().str(), ", expected i32 or i64");
  if (o.input_dim < 1 || o.output_dim < 1) scope.fail("embedding", "input_dim ", o.input_dim, " and output_dim ", o.output_dim, ", expected 1 or more");
  const Shape shape{o.input_dim, o.output_dim};
  const Tensor table = variable(indices, "embeddings", shape, o.embeddings_initializer(shape), o.trainable);
  return gather(table, indices, 0);
}

Tensor activate(Tensor x, Activation act, double alpha) {
  if (act == Activation::kNone) return x;
  if (alpha == 0 && act == Activation::kLeakyRelu) alpha = 0.2;
  if (alpha == 0 && act == Activation::kElu) alpha = 1;
  return activation(x, act, alpha);
}

Tensor add_layers(const Tensors& xs) {
  if (xs.empty()) fail("add: has no inputs");
  Tensor sum = xs[0];
  for (size_t i = 1; i < xs.size(); ++i) sum = sum + xs[i];
  return sum;
}

Tensor concatenate(const Tensors& xs, int64_t axis) { return concat(xs, axis); }

}  // namespace tenon
