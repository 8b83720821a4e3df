// The rest of golden_layers.h: recurrent layers, sequences, preprocessing, augmentation.
#include "tenon/adaptive_pooling.h"
#include "tenon/augmentation.h"
#include "tenon/einsum_dense.h"
#include "tenon/noise.h"
#include "tenon/preprocessing.h"
#include "tenon/recurrent.h"
#include "tenon/sequences.h"
#include "unit/layer/golden/golden_layers.h"
#include "unit/layer/model_testing.h"

namespace tenon::golden {
namespace {

using model_testing::golden_bias;
using model_testing::golden_input;
using model_testing::golden_kernel;

template <class Options>
Options recurrent(Options o) {
  o.kernel_initializer = &golden_kernel;
  o.recurrent_initializer = &golden_kernel;
  o.bias_initializer = &golden_bias;
  if constexpr (requires { o.unit_forget_bias; }) o.unit_forget_bias = false;
  return o;
}
Layer long_short(const LSTMOptions& o) {
  return [=](Tensor x) { return lstm(x, recurrent(o)); };
}
Layer gated(const GRUOptions& o) {
  return [=](Tensor x) { return gru(x, recurrent(o)); };
}
Layer simple(const SimpleRNNOptions& o) {
  return [=](Tensor x) { return simple_rnn(x, recurrent(o)); };
}

void add_recurrent(std::map<std::string, Layer>& m) {
  for (const int64_t units : {2, 8}) {
    const std::string n = std::to_string(units);
    m["LSTM(" + n + ")"] = long_short({.units = units});
    m["GRU(" + n + ")"] = gated({.units = units});
    m["GRU(" + n + ", reset_after=False)"] = gated({.units = units, .reset_after = false});
    m["SimpleRNN(" + n + ")"] = simple({.units = units});
  }
  m["LSTM(8, return_sequences=True, use_bias=False)"] =
      long_short({.units = 8, .use_bias = false, .return_sequences = true});
  m["LSTM(2, return_sequences=True)"] = long_short({.units = 2, .return_sequences = true});
  m["LSTM(2, go_backwards=True)"] = long_short({.units = 2, .go_backwards = true});
  m["Bidirectional(L.LSTM(8))"] = [](Tensor x) { return Bidirectional(LSTM({.units = 8}))(x); };
  m["Bidirectional(L.LSTM(8, return_sequences=True), merge_mode='sum')"] = [](Tensor x) {
    return Bidirectional(LSTM({.units = 8, .return_sequences = true}), {.merge_mode = MergeMode::kSum})(x);
  };
  m["TimeDistributed(L.Dense(4))"] = [](Tensor x) { return TimeDistributed(Dense({.units = 4}))(x); };
}

void add_sequences(std::map<std::string, Layer>& m) {
  m["SeparableConv1D(8, 3)"] = [](Tensor x) { return separable_conv1d(x, {.filters = 8, .kernel = 3}); };
  m["RepeatVector(3)"] = [](Tensor x) { return repeat_vector(x, 3); };
  m["UpSampling1D(3)"] = [](Tensor x) { return up_sampling1d(x, 3); };
  m["EinsumDense('abc,cd->abd', output_shape=(None, 8), bias_axes='d')"] = [](Tensor x) {
    return einsum_dense(x, {.equation = "abc,cd->abd", .output_shape = {-1, 8}, .bias_axes = "d"});
  };
}

void add_preprocessing(std::map<std::string, Layer>& m) {
  m["GaussianNoise(0.1)"] = [](Tensor x) { return gaussian_noise(x, {.stddev = 0.1}); };
  m["AdaptiveAveragePooling2D(4)"] = [](Tensor x) { return adaptive_average_pool2d(x, 4); };
  m["AdaptiveAveragePooling2D(3)"] = [](Tensor x) { return adaptive_average_pool2d(x, 3); };
  m["CategoryEncoding(num_tokens=5, output_mode='one_hot')"] = [](Tensor x) {
    return category_encoding(cast(x, DType::kI32), {.num_tokens = 5, .output_mode = OutputMode::kOneHot});
  };
  m["Normalization()"] = [](Tensor x) { return normalization(x); };
  m["Normalization() adapted to its input"] = [](Tensor x) {
    Normalization layer;
    layer.adapt(golden_input(x.elements()), x.shape());
    return layer(x);
  };
  m["UpSampling2D((2, 3), interpolation='bilinear')"] = [](Tensor x) {
    return up_sampling2d(x, {2, 3}, ResizeMethod::kBilinear);
  };
  m["UpSampling2D(2, interpolation='bilinear')"] = [](Tensor x) {
    return up_sampling2d(x, 2, ResizeMethod::kBilinear);
  };
}

void add_resizing(std::map<std::string, Layer>& m) {
  const auto to = [](const ResizingOptions& o) -> Layer { return [=](Tensor x) { return resizing(x, o); }; };
  const auto resized = [](ResizeMethod method, Coordinates coords) -> Layer {
    return [=](Tensor x) { return resize(x, 3, 5, method, coords); };
  };
  m["Resizing(7, 9)"] = to({7, 9});
  m["Resizing(3, 5)"] = to({3, 5});
  m["Resizing(6, 6)"] = to({6, 6});
  m["Resizing(2, 2, antialias=True)"] = to({.height = 2, .width = 2, .antialias = true});
  m["Resizing(3, 5, interpolation='nearest')"] = to({3, 5, Interpolation::kNearest});
  m["Resizing(6, 6, interpolation='bicubic')"] = to({6, 6, Interpolation::kBicubic});
  m["Resizing(2, 4, crop_to_aspect_ratio=True)"] = to({.height = 2, .width = 4, .crop_to_aspect_ratio = true});
  m["Resizing(2, 4, pad_to_aspect_ratio=True)"] = to({.height = 2, .width = 4, .pad_to_aspect_ratio = true});
  m["tf1 resize_bilinear to 3x5 {'align_corners': False}"] = resized(ResizeMethod::kBilinear, Coordinates::kLegacy);
  m["tf1 resize_bilinear to 3x5 {'align_corners': True}"] =
      resized(ResizeMethod::kBilinear, Coordinates::kAlignCorners);
  m["tf1 resize_bilinear to 3x5 {'half_pixel_centers': True}"] =
      resized(ResizeMethod::kBilinear, Coordinates::kHalfPixel);
  m["tf1 resize_nearest_neighbor to 3x5 {'align_corners': False}"] =
      resized(ResizeMethod::kNearest, Coordinates::kLegacy);
  for (const int64_t n : {2, 3, 12})
    m["CenterCrop(" + std::to_string(n) + ", " + std::to_string(n) + ")"] = [n](Tensor x) {
      return center_crop(x, {n, n});
    };
}

void add_augmentation(std::map<std::string, Layer>& m) {
  const std::string counted = " training, input 0..15 row-major";
  const auto turn = [](const RandomRotationOptions& o) -> Layer {
    return [=](Tensor x) { return random_rotation(x, o); };
  };
  const auto zoom = [](const RandomZoomOptions& o) -> Layer { return [=](Tensor x) { return random_zoom(x, o); }; };
  const auto move = [](const RandomTranslationOptions& o) -> Layer {
    return [=](Tensor x) { return random_translation(x, o); };
  };
  const auto light = [](const RandomBrightnessOptions& o) -> Layer {
    return [=](Tensor x) { return random_brightness(x, o); };
  };
  m["RandomCrop(3, 3)"] = [](Tensor x) { return random_crop(x, {3, 3}); };
  m["RandomFlip()"] = [](Tensor x) { return random_flip(x); };
  m["RandomContrast(0.1)"] = [](Tensor x) { return random_contrast(x, {.factor = 0.1}); };
  m["RandomRotation(0.1)"] = turn({0.1});
  m["RandomZoom(0.1)"] = zoom({0.1});
  m["RandomTranslation(0.1, 0.1)"] = move({0.1, 0.1});
  m["RandomBrightness(0.1)"] = light({0.1});
  m["RandomRotation((0.25, 0.25))" + counted] = turn({{0.25, 0.25}});
  m["RandomRotation((0.125, 0.125))" + counted] = turn({{0.125, 0.125}});
  m["RandomRotation((0.125, 0.125), fill_mode='constant')" + counted] = turn({{0.125, 0.125}, FillMode::kConstant});
  m["RandomRotation((0.125, 0.125), fill_mode='nearest', interpolation='nearest')" + counted] =
      turn({{0.125, 0.125}, FillMode::kNearest, ResizeMethod::kNearest});
  m["RandomTranslation((0.25, 0.25), (0.25, 0.25))" + counted] = move({{0.25, 0.25}, {0.25, 0.25}});
  m["RandomTranslation((0.25, 0.25), (0.0, 0.0), fill_mode='wrap')" + counted] =
      move({{0.25, 0.25}, 0, FillMode::kWrap});
  m["RandomTranslation((0.25, 0.25), (0.0, 0.0), fill_mode='nearest')" + counted] =
      move({{0.25, 0.25}, 0, FillMode::kNearest});
  m["RandomTranslation((0.125, 0.125), (0.0, 0.0), fill_mode='constant')" + counted] =
      move({{0.125, 0.125}, 0, FillMode::kConstant});
  m["RandomZoom((0.5, 0.5))" + counted] = zoom({{0.5, 0.5}});
  m["RandomZoom((-0.5, -0.5))" + counted] = zoom({{-0.5, -0.5}});
  m["RandomZoom((-0.5, -0.5), (0.0, 0.0))" + counted] = zoom({{-0.5, -0.5}, Factor(0)});
  m["RandomBrightness((0.1, 0.1))" + counted] = light({{0.1, 0.1}});
  m["RandomBrightness((0.1, 0.1), value_range=(0, 20))" + counted] = light({{0.1, 0.1}, {0, 20}});
}

}  // namespace

void add_more_layers(std::map<std::string, Layer>& m) {
  add_recurrent(m);
  add_sequences(m);
  add_preprocessing(m);
  add_resizing(m);
  add_augmentation(m);
}

}  // namespace tenon::golden
