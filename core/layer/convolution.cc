// Conv1D, Conv2D, DepthwiseConv2D, ZeroPadding2D.
#include "layer/layer.h"

namespace tenon {
namespace {

Tensor convolve(Tensor x, const ConvLayerOptions& o, int spatial, std::string_view layer, int64_t depthwise) {
  const LayerScope scope(x, o.name.empty() ? layer : std::string_view(o.name));
  if (x.rank() != spatial + 2 || !is_float(x.dtype()))
    scope.fail(layer, "input is ", x.type().str(), ", expected a float of rank ", spatial + 2);
  const int64_t channels = x.dim(-1), groups = depthwise ? channels : o.groups;
  const int64_t filters = depthwise ? channels * depthwise : o.filters;
  if (filters < 1) scope.fail(layer, "filters is ", filters, ", expected 1 or more");
  if (groups < 1 || channels % groups || filters % groups)
    scope.fail(layer, "groups ", groups, " do not divide ", channels, " channels and ", filters, " filters");
  const Ints kernel = o.kernel.of(spatial), strides = o.strides.of(spatial), dilation = o.dilation.of(spatial);
  for (int64_t v : kernel)
    if (v < 1) scope.fail(layer, "kernel size is ", v, ", expected 1 or more");
  Ints dims = kernel;
  dims.push_back(depthwise ? channels : channels / groups);
  dims.push_back(depthwise ? depthwise : filters);
  Tensor w = weight(x, "kernel", Shape(dims), o.kernel_initializer, o.trainable, o.kernel_regularizer);
  if (depthwise) {  // [h, w, C, m] holds the same numbers as HWIO with one input channel a group
    dims.end()[-2] = 1;
    dims.end()[-1] = filters;
    w = reshape(w, Shape(dims));
  }
  const Tensor bias = o.use_bias ? weight(x, "bias", {filters}, o.bias_initializer, o.trainable) : Tensor();
  const Ints input(x.shape().begin() + 1, x.shape().end() - 1);
  const Paddings pads = paddings(o.padding, input, kernel, strides, dilation);
  ConvOptions options;
  options.strides = strides;
  options.dilation = dilation;
  options.low = pads.low;
  options.high = pads.high;
  options.groups = groups;
  return conv_bias_act(x, w, bias, {}, o.activation, 0, options);
}

}  // namespace

Tensor conv1d(Tensor x, const ConvLayerOptions& o) { return convolve(x, o, 1, "conv1d", 0); }
Tensor conv2d(Tensor x, const ConvLayerOptions& o) { return convolve(x, o, 2, "conv2d", 0); }
Tensor depthwise_conv2d(Tensor x, const ConvLayerOptions& o, int64_t depth_multiplier) {
  return convolve(x, o, 2, "depthwise_conv2d", depth_multiplier);
}

Tensor zero_padding2d(Tensor x, Extent padding) {
  if (x.rank() != 4) fail("zero_padding2d: input is ", x.type().str(), ", expected rank 4");
  Ints low{0, 0, 0, 0}, high{0, 0, 0, 0};
  Ints p;
  try {
    p = padding.of(2);
    p = {p[0], p[0], p[1], p[1]};
  } catch (const Error&) {
    p = padding.of(4);  // top, bottom, left, right
  }
  low[1] = p[0], high[1] = p[1], low[2] = p[2], high[2] = p[3];
  return pad(x, low, high, {}, 0);
}

}  // namespace tenon
