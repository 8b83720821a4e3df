// LocallyConnected1D, LocallyConnected2D.
#include "tenon/locally_connected.h"

#include <algorithm>

#include "layer/object/layer_scope.h"

namespace tenon {
namespace {

// What the kernel sees at each place: x[B, n.., C] -> [B, places.., k.. C].
Tensor seen_at_places(Tensor x, const Ints& kernel, const Ints& strides, const Ints& places) {
  const size_t dims = kernel.size();
  Ints stride{1};
  stride.insert(stride.end(), strides.begin(), strides.end());
  stride.push_back(1);
  Tensors seen;
  Ints at(dims, 0);  // in the kernel
  const int64_t elements = Shape(kernel).elements();
  for (int64_t i = 0; i < elements; ++i) {
    Ints start{0}, limit{x.dim(0)};
    for (size_t d = 0; d < dims; ++d) {
      start.push_back(at[d]);
      limit.push_back(at[d] + (places[d] - 1) * strides[d] + 1);
    }
    start.push_back(0);
    limit.push_back(x.dim(-1));
    seen.push_back(slice(x, start, limit, stride));
    for (size_t d = dims; d-- > 0 && ++at[d] == kernel[d];) at[d] = 0;
  }
  return concat(seen, x.rank() - 1);
}

Tensor connect_locally(Tensor x, const ConvLayerOptions& o, int spatial, std::string_view layer) {
  const LayerScope scope(x, layer, o.name.empty() ? layer : std::string_view(o.name));
  x = scope.as_float(x, spatial + 2, spatial + 2);
  scope.expect_size("filters", o.filters);
  const Ints kernel = scope.sizes("kernel size", o.kernel, spatial),
             strides = scope.sizes("stride", o.strides, spatial);
  const Ints dilation = scope.sizes("dilation", o.dilation, spatial);
  const bool plain = std::all_of(dilation.begin(), dilation.end(), [](int64_t d) { return d == 1; });
  scope.expect(o.padding == Padding::kValid, "padding is not valid, the only one that there is");
  scope.expect(plain && o.groups == 1 && o.depth_multiplier == 1, "dilation, groups and depth_multiplier have to be 1");
  Ints places;
  for (int d = 0; d < spatial; ++d) {
    scope.expect_static(x, d + 1);
    const auto at = static_cast<size_t>(d);
    scope.expect(kernel[at] <= x.dim(d + 1), "input ", x.type().str(), " is smaller than the kernel, ", kernel[at],
                 " in spatial dimension ", d);
    places.push_back((x.dim(d + 1) - kernel[at]) / strides[at] + 1);
  }
  const int64_t all = Shape(places).elements(), inner = Shape(kernel).elements() * x.dim(-1), batch = x.dim(0);
  const Tensor w = weight(x, "kernel", {all, inner, o.filters}, o.kernel_initializer, o.trainable, o.kernel_regularizer,
                          o.kernel_constraint);
  const Tensor rows = transpose(reshape(seen_at_places(x, kernel, strides, places), {batch, all, inner}), {1, 0, 2});
  std::vector<int64_t> result = places;
  result.push_back(o.filters);
  const Shape one(result);
  result.insert(result.begin(), batch);
  Tensor y = reshape(transpose(dot(rows, w), {1, 0, 2}), Shape(result));
  if (const Tensor bias = bias_of(x, one, o)) y = y + bias;
  return penalized(activate(y, o.activation), o);
}

}  // namespace

Tensor locally_connected1d(Tensor x, const ConvLayerOptions& o) {
  return connect_locally(x, o, 1, "locally_connected1d");
}
Tensor locally_connected2d(Tensor x, const ConvLayerOptions& o) {
  return connect_locally(x, o, 2, "locally_connected2d");
}

}  // namespace tenon
