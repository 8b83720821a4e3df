// Layers of images.
#include "tenon/adaptive_pooling.h"
#include "tenon/preprocessing.h"
#include "unit/layer/keras/keras_layers.h"

namespace tenon::golden {
namespace {

Call of_image(const std::function<Tensor(Tensor)>& layer) {
  return [=](const Tensors& xs) { return Tensors{layer(xs[0])}; };
}
Call to_size(const ResizingOptions& o) {
  return of_image([=](Tensor x) { return Resizing(o)(x); });
}

void add_image_convolutions(std::map<std::string, Call>& m) {
  m["Conv2D(3, (2, 3), padding='same')"] = of_image([](Tensor x) {
    return conv2d(x, {.filters = 3, .kernel = {2, 3}, .padding = same});
  });
  m["Conv2D(4, 2, groups=2, strides=(1, 2))"] = of_image([](Tensor x) {
    return conv2d(x, {.filters = 4, .kernel = 2, .strides = {1, 2}, .groups = 2});
  });
  m["Conv2DTranspose(3, 3, strides=2, padding='same')"] = of_image(
      [](Tensor x) { return conv2d_transpose(x, {.filters = 3, .kernel = 3, .strides = 2, .padding = same}); });
  m["DepthwiseConv2D(2, depth_multiplier=2, padding='same')"] =
      of_image([](Tensor x) { return depthwise_conv2d(x, {.kernel = 2, .padding = same, .depth_multiplier = 2}); });
  m["SeparableConv2D(3, 2)"] = of_image([](Tensor x) { return separable_conv2d(x, {.filters = 3, .kernel = 2}); });
}

void add_image_pooling(std::map<std::string, Call>& m) {
  m["MaxPooling2D(2, strides=1, padding='same')"] =
      of_image([](Tensor x) { return max_pool2d(x, {.pool_size = 2, .strides = 1, .padding = same}); });
  m["AveragePooling2D(2, padding='same')"] =
      of_image([](Tensor x) { return average_pool2d(x, {.pool_size = 2, .padding = same}); });
  m["GlobalAveragePooling2D()"] = of_image([](Tensor x) { return GlobalAveragePooling2D()(x); });
  m["Cropping2D(((1, 0), (1, 2)))"] = of_image([](Tensor x) { return Cropping2D({1, 0, 1, 2})(x); });
  m["ZeroPadding2D((1, 2))"] = of_image([](Tensor x) { return ZeroPadding2D({1, 2})(x); });
  m["GlobalMaxPooling2D()"] = of_image([](Tensor x) { return global_max_pool2d(x); });
  m["AdaptiveAveragePooling2D((3, 2))"] = of_image([](Tensor x) { return AdaptiveAveragePooling2D({3, 2})(x); });
  m["AdaptiveMaxPooling2D((3, 2))"] = of_image([](Tensor x) { return AdaptiveMaxPooling2D({3, 2})(x); });
}

void add_image_sizes(std::map<std::string, Call>& m) {
  m["UpSampling2D((2, 3))"] = of_image([](Tensor x) { return up_sampling2d(x, {2, 3}); });
  m["UpSampling2D((2, 3), interpolation='bilinear')"] = of_image([](Tensor x) {
    return up_sampling2d(x, {2, 3}, ResizeMethod::kBilinear);
  });
  m["Resizing(7, 3)"] = to_size({7, 3});
  m["Resizing(7, 3, interpolation='nearest')"] = to_size({7, 3, Interpolation::kNearest});
  m["Resizing(2, 3, antialias=True)"] = to_size({.height = 2, .width = 3, .antialias = true});
  m["Resizing(2, 6, interpolation='bicubic', antialias=True)"] =
      to_size({.height = 2, .width = 6, .interpolation = Interpolation::kBicubic, .antialias = true});
  m["Resizing(3, 6, crop_to_aspect_ratio=True)"] = to_size({.height = 3, .width = 6, .crop_to_aspect_ratio = true});
  m["Resizing(4, 9, pad_to_aspect_ratio=True, fill_value=2.0)"] =
      to_size({.height = 4, .width = 9, .pad_to_aspect_ratio = true, .fill_value = 2});
  m["CenterCrop(2, 3)"] = of_image([](Tensor x) { return CenterCrop({2, 3})(x); });
  m["CenterCrop(6, 3)"] = of_image([](Tensor x) { return CenterCrop({6, 3})(x); });
}

}  // namespace

void add_keras_image_layers(std::map<std::string, Call>& m) {
  add_image_convolutions(m);
  add_image_pooling(m);
  add_image_sizes(m);
}

}  // namespace tenon::golden
