// AdaptiveAveragePooling2D, AdaptiveMaxPooling2D.
#include "tenon/adaptive_pooling.h"

#include "layer/image/images.h"

namespace tenon {
namespace {

// Places [from, to) that result i of `count` takes of `size`.
struct Bin {
  int64_t from, to;
};
Bin bin(int64_t i, int64_t size, int64_t count) { return {i * size / count, ((i + 1) * size + count - 1) / count}; }

Ints pooled_sizes(const LayerScope& scope, Tensor x, const Extent& output_size) {
  scope.expect_float(x, 4, 4);
  const Ints sizes = scope.sizes("output_size", output_size, 2);
  for (int i = 0; i < 2; ++i)
    scope.expect(sizes[static_cast<size_t>(i)] <= x.dim(i + 1), "output_size is ", join(sizes, "x"),
                 ", expected no more than ", x.type().str(), " has");
  return sizes;
}

Tensor averaged_along(Tensor x, int axis, int64_t count) {
  const int64_t size = x.dim(axis);
  std::vector<double> weights(static_cast<size_t>(size * count), 0);
  for (int64_t i = 0; i < count; ++i) {
    const Bin b = bin(i, size, count);
    for (int64_t k = b.from; k < b.to; ++k)
      weights[static_cast<size_t>(k * count + i)] = 1 / static_cast<double>(b.to - b.from);
  }
  return mixed_along(x, axis, count, weights);
}

Tensor highest_along(Tensor x, int axis, int64_t count) {
  Tensors parts;
  for (int64_t i = 0; i < count; ++i) {
    const Bin b = bin(i, x.dim(axis), count);
    Ints start(4, 0), limit = x.shape().vec();
    start[static_cast<size_t>(axis)] = b.from;
    limit[static_cast<size_t>(axis)] = b.to;
    parts.push_back(reduce_max(slice(x, start, limit, {}), {axis}, true));
  }
  return concat(parts, axis);
}

}  // namespace

Tensor adaptive_average_pool2d(Tensor x, const Extent& output_size) {
  const LayerScope scope(x, "adaptive_average_pooling2d", "adaptive_average_pooling2d");
  const Ints n = pooled_sizes(scope, x, output_size);
  return averaged_along(averaged_along(x, 2, n[1]), 1, n[0]);
}

Tensor adaptive_max_pool2d(Tensor x, const Extent& output_size) {
  const LayerScope scope(x, "adaptive_max_pooling2d", "adaptive_max_pooling2d");
  const Ints n = pooled_sizes(scope, x, output_size);
  return highest_along(highest_along(x, 2, n[1]), 1, n[0]);
}

}  // namespace tenon
