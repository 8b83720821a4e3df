// What the networks of the tests are made of.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "tenon/layers.h"

namespace tenon::networks {

struct Network {
  std::function<Tensor(Tensor image)> features;
  std::function<Tensor(Tensor map)> top;
};

// A convolution without bias, and its normalization.
inline Tensor conv_norm(Tensor x, int64_t filters, int64_t kernel, int64_t stride = 1, ActivationRule after = relu) {
  const Tensor y =
      conv2d(x, {.filters = filters, .kernel = kernel, .strides = stride, .padding = same, .use_bias = false});
  return activate(batch_normalization(y), after);
}
inline Tensor depthwise_norm(Tensor x, int64_t kernel, int64_t stride, ActivationRule after) {
  const Tensor y = depthwise_conv2d(x, {.kernel = kernel, .strides = stride, .padding = same, .use_bias = false});
  return activate(batch_normalization(y), after);
}
inline Tensor separable_norm(Tensor x, int64_t filters) {
  return batch_normalization(
      separable_conv2d(x, {.filters = filters, .kernel = 3, .padding = same, .use_bias = false}));
}
inline Tensor biased(Tensor x, int64_t filters, int64_t kernel = 1, int64_t stride = 1, ActivationRule after = linear) {
  return conv2d(
      x, {.filters = filters, .kernel = kernel, .strides = stride, .padding = same, .activation = std::move(after)});
}
inline Tensor halved(Tensor x, int64_t window = 3) {
  return max_pool2d(x, {.pool_size = window, .strides = 2, .padding = same});
}

inline Tensor mean_and_dense(Tensor map) {
  return dense(global_average_pool2d(map), {.units = 1000, .activation = "softmax"});
}
// Channels weighed by what all places of them say.
inline Tensor squeezed(Tensor x, int64_t filters) {
  const Tensor all = biased(global_average_pool2d(x, true), filters, 1, 1, silu);
  return multiply({x, biased(all, x.dim(-1), 1, 1, sigmoid)});
}

// Those of later years: Inception, NASNet, MobileNetV3, EfficientNetV2, ConvNeXt.
const std::map<std::string, Network>& later();

}  // namespace tenon::networks
