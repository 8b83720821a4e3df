// MaxPooling, AveragePooling and the global ones, over images and sequences.
#include "layer/object/layer_scope.h"
#include "layer/object/masks.h"

namespace tenon {
namespace {

PoolOptions pool_options(const LayerScope& scope, Tensor x, const PoolLayerOptions& o, int spatial) {
  scope.expect_float(x, spatial + 2, spatial + 2);
  scope.expect(o.padding != Padding::kCausal, "padding is causal, expected valid or same");
  PoolOptions out;
  out.window = scope.sizes("pool_size", o.pool_size, spatial);
  out.strides = o.strides ? scope.sizes("stride", *o.strides, spatial) : out.window;
  const Ints input(x.shape().begin() + 1, x.shape().end() - 1);
  const Paddings pads = paddings(o.padding, input, out.window, out.strides, Ints(input.size(), 1));
  for (size_t d = 0; d < input.size(); ++d)
    scope.expect(out.window[d] <= input[d] + pads.low[d] + pads.high[d], "input ", x.type().str(),
                 " is smaller than the window, ", out.window[d], " in spatial dimension ", d);
  out.low = pads.low;
  out.high = pads.high;
  return out;
}

Tensor max_pooling(Tensor x, const PoolLayerOptions& o, int spatial, std::string_view layer) {
  const LayerScope scope(x, layer, o.name.empty() ? layer : std::string_view(o.name));
  return max_pool(x, pool_options(scope, x, o, spatial));
}

Tensor average_pooling(Tensor x, const PoolLayerOptions& o, int spatial, std::string_view layer) {
  const LayerScope scope(x, layer, o.name.empty() ? layer : std::string_view(o.name));
  return avg_pool(x, pool_options(scope, x, o, spatial));
}

using Reduce = Tensor (*)(Tensor x, const Ints& axes, bool keepdims);

Tensor global_pooling(Tensor x, bool keepdims, int spatial, std::string_view layer, Reduce reduce_axes) {
  const LayerScope scope(x, layer, layer);
  scope.expect_float(x, spatial + 2, spatial + 2);
  return reduce_axes(x, spatial_axes(x), keepdims);
}

// Where no step counts, 0.
Tensor mean_of_counted(Tensor x, const Ints& axes, bool keepdims) {
  if (!mask_of(x)) return reduce_mean(x, axes, keepdims);
  const Tensor count = reduce_sum(mask_over(x, x.dtype()), axes, keepdims);
  return reduce_sum(counted_steps(x), axes, keepdims) / maximum(count, scalar_like(count, 1));
}

}  // namespace

Tensor max_pool2d(Tensor x, const PoolLayerOptions& o) { return max_pooling(x, o, 2, "max_pooling2d"); }
Tensor max_pool2d(Tensor x, int64_t pool_size) { return max_pool2d(x, PoolLayerOptions{.pool_size = pool_size}); }
Tensor max_pool1d(Tensor x, const PoolLayerOptions& o) { return max_pooling(x, o, 1, "max_pooling1d"); }

Tensor average_pool2d(Tensor x, const PoolLayerOptions& o) { return average_pooling(x, o, 2, "average_pooling2d"); }
Tensor average_pool2d(Tensor x, int64_t pool_size) {
  return average_pool2d(x, PoolLayerOptions{.pool_size = pool_size});
}
Tensor average_pool1d(Tensor x, const PoolLayerOptions& o) { return average_pooling(x, o, 1, "average_pooling1d"); }

Tensor global_average_pool2d(Tensor x, bool keepdims) {
  return global_pooling(x, keepdims, 2, "global_average_pooling2d", reduce_mean);
}
Tensor global_max_pool2d(Tensor x, bool keepdims) {
  return global_pooling(x, keepdims, 2, "global_max_pooling2d", reduce_max);
}
Tensor global_average_pool1d(Tensor x, bool keepdims) {
  return global_pooling(x, keepdims, 1, "global_average_pooling1d", mean_of_counted);
}
Tensor global_max_pool1d(Tensor x, bool keepdims) {
  return global_pooling(x, keepdims, 1, "global_max_pooling1d", reduce_max);
}

}  // namespace tenon
