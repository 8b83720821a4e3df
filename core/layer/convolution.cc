// Conv1D, Conv2D, and by channel or transposed of both.
#include "layer/object/layer_scope.h"
#include "tenon/sequences.h"

namespace tenon {
namespace {

struct Spatial {
  Ints kernel, strides, dilation;
};

Spatial spatial_sizes(const LayerScope& scope, const Extent& kernel, const Extent& strides, const Extent& dilation,
                      int dimensions) {
  return {scope.sizes("kernel size", kernel, dimensions), scope.sizes("stride", strides, dimensions),
          scope.sizes("dilation", dilation, dimensions)};
}

Shape kernel_shape(Ints spatial, int64_t second_last, int64_t last) {
  spatial.push_back(second_last);
  spatial.push_back(last);
  return Shape(spatial);
}

ConvOptions conv_options(const LayerScope& scope, Tensor x, Padding padding, const Spatial& s, int64_t groups) {
  const Ints input(x.shape().begin() + 1, x.shape().end() - 1);
  scope.expect(padding != Padding::kCausal || input.size() == 1, "padding is causal, expected valid or same");
  const Paddings pads = paddings(padding, input, s.kernel, s.strides, s.dilation);
  for (size_t d = 0; d < input.size(); ++d) {
    const int64_t reach = (s.kernel[d] - 1) * s.dilation[d] + 1, padded = input[d] + pads.low[d] + pads.high[d];
    scope.expect(reach <= padded, "input ", x.type().str(), " is smaller than the kernel, ", reach,
                 " in spatial dimension ", d);
  }
  ConvOptions options;
  options.strides = s.strides;
  options.dilation = s.dilation;
  options.low = pads.low;
  options.high = pads.high;
  options.groups = groups;
  return options;
}

Tensor activated_conv(Tensor x, Tensor w, Tensor bias, const ConvLayerOptions& o, const ConvOptions& options) {
  const Activation act = o.activation.fused();
  return penalized(o.activation.after(conv_bias_act(x, w, bias, {}, act, default_alpha(act), options)), o);
}

Tensor convolve(Tensor x, const ConvLayerOptions& o, int spatial, std::string_view layer) {
  const LayerScope scope(x, layer, o.name.empty() ? layer : std::string_view(o.name));
  x = scope.as_float(x, spatial + 2, spatial + 2);
  const int64_t channels = x.dim(-1);
  scope.expect_size("filters", o.filters);
  scope.expect(o.groups >= 1 && channels % o.groups == 0 && o.filters % o.groups == 0, "groups ", o.groups,
               " do not divide ", channels, " channels and ", o.filters, " filters");
  scope.expect(o.depth_multiplier == 1, "depth_multiplier is ", o.depth_multiplier, ", which depthwise ones have");
  const Spatial s = spatial_sizes(scope, o.kernel, o.strides, o.dilation, spatial);
  const ConvOptions options = conv_options(scope, x, o.padding, s, o.groups);
  const Shape shape = kernel_shape(s.kernel, channels / o.groups, o.filters);
  const Tensor w =
      weight(x, "kernel", shape, o.kernel_initializer, o.trainable, o.kernel_regularizer, o.kernel_constraint);
  const Tensor bias = bias_of(x, {o.filters}, o);
  return activated_conv(x, w, bias, o, options);
}

// The variable [spatial.., C, m] as a kernel with one input channel a group, which is the same numbers.
Tensor depthwise_kernel(Tensor x, std::string_view name, const Ints& size, const ConvLayerOptions& o) {
  const int64_t channels = x.dim(-1), multiplier = o.depth_multiplier;
  const Shape shape = kernel_shape(size, channels, multiplier);
  const Tensor w = weight(x, name, shape, o.kernel_initializer, o.trainable, o.kernel_regularizer, o.kernel_constraint);
  return reshape(w, kernel_shape(size, 1, channels * multiplier));
}

Tensor as_depthwise(const LayerScope& scope, Tensor x, int spatial, const ConvLayerOptions& o) {
  scope.expect_size("depth_multiplier", o.depth_multiplier);
  return scope.as_float(x, spatial + 2, spatial + 2);
}

// Padding at the low end of each dimension, and size, of the result of a transposed convolution.
struct Transposed {
  Ints size, low, high;
};

Transposed transposed(const LayerScope& scope, Tensor x, const ConvTransposeOptions& o, const Spatial& s) {
  scope.expect(o.padding != Padding::kCausal, "padding is causal, expected valid or same");
  const bool is_same = o.padding == Padding::kSame;
  Ints more;
  const int spatial = x.rank() - 2;
  if (o.output_padding) more = scope.sizes("output_padding", *o.output_padding, spatial, 0);
  Transposed t;
  for (int d = 0; d < spatial; ++d) {
    const int64_t n = x.dim(d + 1), stride = s.strides[d], reach = (s.kernel[d] - 1) * s.dilation[d] + 1;
    const int64_t spread = (n - 1) * stride;
    if (!more.empty())
      scope.expect(more[d] < stride, "output_padding is ", more[d], ", expected less than the stride ", stride);
    int64_t size = 0;
    if (is_same)
      size = more.empty() ? n * stride : spread + reach % 2 + more[d];
    else
      size = spread + reach + (more.empty() ? std::max<int64_t>(stride - reach, 0) : more[d]);
    scope.expect(size >= 1, "gives no rows or columns for ", n, ", expected an output_padding of 1 or more");
    const int64_t total = is_same ? std::max<int64_t>(spread + reach - size, 0) : 0;
    t.size.push_back(size);
    t.low.push_back(total / 2);
    t.high.push_back(total - total / 2);
  }
  return t;
}

Tensor convolve_by_channel(Tensor x, const ConvLayerOptions& o, int spatial, std::string_view layer) {
  const LayerScope scope(x, layer, o.name.empty() ? layer : std::string_view(o.name));
  x = as_depthwise(scope, x, spatial, o);
  const Spatial s = spatial_sizes(scope, o.kernel, o.strides, o.dilation, spatial);
  const ConvOptions options = conv_options(scope, x, o.padding, s, x.dim(-1));
  const Tensor w = depthwise_kernel(x, "kernel", s.kernel, o);
  const Shape filters{x.dim(-1) * o.depth_multiplier};
  const Tensor bias = bias_of(x, filters, o);
  return activated_conv(x, w, bias, o, options);
}

Tensor convolve_separably(Tensor x, const ConvLayerOptions& o, int spatial, std::string_view layer) {
  const LayerScope scope(x, layer, o.name.empty() ? layer : std::string_view(o.name));
  x = as_depthwise(scope, x, spatial, o);
  scope.expect_size("filters", o.filters);
  const Spatial s = spatial_sizes(scope, o.kernel, o.strides, o.dilation, spatial);
  const ConvOptions options = conv_options(scope, x, o.padding, s, x.dim(-1));
  const Tensor deep = depthwise_kernel(x, "depthwise_kernel", s.kernel, o);
  const Shape point = kernel_shape(Ints(s.kernel.size(), 1), x.dim(-1) * o.depth_multiplier, o.filters);
  const Tensor wide = weight(x, "pointwise_kernel", point, o.kernel_initializer, o.trainable, o.kernel_regularizer,
                             o.kernel_constraint);
  const Tensor bias = bias_of(x, {o.filters}, o);
  return activated_conv(conv(x, deep, options), wide, bias, o, {});
}

Tensor convolve_transposed(Tensor x, const ConvTransposeOptions& o, int spatial, std::string_view layer) {
  const LayerScope scope(x, layer, o.name == ConvTransposeOptions{}.name ? layer : std::string_view(o.name));
  x = scope.as_float(x, spatial + 2, spatial + 2);
  scope.expect_size("filters", o.filters);
  const Spatial s = spatial_sizes(scope, o.kernel, o.strides, o.dilation, spatial);
  const Transposed t = transposed(scope, x, o, s);
  const Shape shape = kernel_shape(s.kernel, o.filters, x.dim(-1));
  const Tensor w =
      weight(x, "kernel", shape, o.kernel_initializer, o.trainable, o.kernel_regularizer, o.kernel_constraint);
  ConvOptions options;
  options.strides = s.strides;
  options.dilation = s.dilation;
  options.low = t.low;
  options.high = t.high;
  Tensor y = conv_grad_input(x, w, t.size, options);
  if (const Tensor bias = bias_of(x, {o.filters}, o)) y = y + bias;
  return penalized(activate(y, o.activation), o);
}

}  // namespace

Tensor conv1d(Tensor x, const ConvLayerOptions& o) { return convolve(x, o, 1, "conv1d"); }
Tensor conv2d(Tensor x, const ConvLayerOptions& o) { return convolve(x, o, 2, "conv2d"); }

Tensor depthwise_conv1d(Tensor x, const ConvLayerOptions& o) {
  return convolve_by_channel(x, o, 1, "depthwise_conv1d");
}
Tensor depthwise_conv2d(Tensor x, const ConvLayerOptions& o) {
  return convolve_by_channel(x, o, 2, "depthwise_conv2d");
}
Tensor separable_conv1d(Tensor x, const ConvLayerOptions& o) { return convolve_separably(x, o, 1, "separable_conv1d"); }
Tensor separable_conv2d(Tensor x, const ConvLayerOptions& o) { return convolve_separably(x, o, 2, "separable_conv2d"); }
Tensor conv1d_transpose(Tensor x, const ConvTransposeOptions& o) {
  return convolve_transposed(x, o, 1, "conv1d_transpose");
}
Tensor conv2d_transpose(Tensor x, const ConvTransposeOptions& o) {
  return convolve_transposed(x, o, 2, "conv2d_transpose");
}

}  // namespace tenon
