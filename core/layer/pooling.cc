// MaxPooling2D, AveragePooling2D and the global ones.
#include "layer/layer.h"

namespace tenon {
namespace {

PoolOptions pool_options(Tensor x, const PoolLayerOptions& o, std::string_view layer) {
  if (x.rank() != 4 || !is_float(x.dtype())) fail(layer, ": input is ", x.type().str(), ", expected a float of rank 4");
  PoolOptions out;
  out.window = o.pool_size.of(2);
  out.strides = o.strides ? o.strides->of(2) : out.window;
  const Paddings pads = paddings(o.padding, {x.dim(1), x.dim(2)}, out.window, out.strides, {1, 1});
  out.low = pads.low;
  out.high = pads.high;
  return out;
}

void expect_image(Tensor x, std::string_view layer) {
  if (x.rank() != 4) fail(layer, ": input is ", x.type().str(), ", expected rank 4");
}

}  // namespace

Tensor max_pool2d(Tensor x, const PoolLayerOptions& o) {
  const PoolOptions options = pool_options(x, o, "max_pool2d");
  const LayerScope scope(x, "max_pooling2d");
  return max_pool(x, options);
}
Tensor max_pool2d(Tensor x, int64_t pool_size) { return max_pool2d(x, PoolLayerOptions{.pool_size = pool_size}); }

Tensor average_pool2d(Tensor x, const PoolLayerOptions& o) {
  const PoolOptions options = pool_options(x, o, "average_pool2d");
  const LayerScope scope(x, "average_pooling2d");
  return avg_pool(x, options);
}
Tensor average_pool2d(Tensor x, int64_t pool_size) {
  return average_pool2d(x, PoolLayerOptions{.pool_size = pool_size});
}

Tensor global_average_pool2d(Tensor x, bool keepdims) {
  expect_image(x, "global_average_pool2d");
  return reduce_mean(x, {1, 2}, keepdims);
}
Tensor global_max_pool2d(Tensor x, bool keepdims) {
  expect_image(x, "global_max_pool2d");
  return reduce_max(x, {1, 2}, keepdims);
}

}  // namespace tenon
