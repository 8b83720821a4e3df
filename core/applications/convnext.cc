#include <array>

#include "applications/maps.h"
#include "base/strings.h"
#include "tenon/preprocessing.h"
#include "tenon/variables.h"

namespace tenon::applications {
namespace {

constexpr double kFine = 1e-6;  // epsilon of layer normalization

// Keras's LayerScale: x times a learned number for each channel, which begins small.
class LayerScale : public LayerOf<LayerScale> {
 public:
  using LayerOf::LayerOf;
  Tensor call(Tensor x) override {
    return x * cast(variable(x, "gamma", {x.dim(-1)}, constant_initializer(1e-6)), x.dtype());
  }
};

// The end of a branch and what it is added to, under the name of Keras's last layer in it: the sum is none there.
class AddedBranch : public LayerOf<AddedBranch> {
 public:
  using LayerOf::LayerOf;
  Tensor call(const Tensors& xs) override { return xs[0] + xs[1]; }
};

Map layer_norm(const Map& x, const std::string& name) {
  return apply(x, LayerNormalization({.epsilon = kFine, .name = name}));
}

Map convnext_block(const Map& in, const std::string& name) {
  const int64_t n = in.channels;
  Map x = conv(in, {.filters = n, .kernel = 7, .padding = same, .groups = n, .name = name + "_depthwise_conv"});
  x = layer_norm(x, name + "_layernorm");
  x = apply(x, Dense({.units = 4 * n, .name = name + "_pointwise_conv_1"}));
  x = act(x, gelu, name + "_gelu");
  x = apply(x, Dense({.units = n, .name = name + "_pointwise_conv_2"}));
  x = apply(x, LayerScale(name + "_layer_scale"));
  return {AddedBranch(name + "_identity")(std::vector{in.x, x.x}), in.height, in.width, n};
}

// A model of two layers, as in Keras: patches that do not overlap and layer normalization, in either order.
Map patches(const Map& x, int64_t filters, int64_t size, const std::string& name, int stage) {
  const std::string stem = name + (stage == 0 ? "_stem" : "_downsampling");
  const std::string number = stage == 0 ? "" : cat("_", stage - 1);
  const Conv2D conv({.filters = filters, .kernel = size, .strides = size, .name = stem + "_conv" + number});
  const LayerNormalization normal({.epsilon = kFine, .name = stem + "_layernorm" + number});
  const auto less = [&](int64_t n) { return n == kAnySize ? n : n / size; };
  const Sequential both =
      stage == 0 ? Sequential({conv, normal}, stem) : Sequential({normal, conv}, stem + "_block" + number);
  return {both(x.x), less(x.height), less(x.width), filters};
}

Symbol convnext_top(const Map& x, const Options& options, const std::string& name) {
  if (!options.include_top) return LayerNormalization({.epsilon = kFine})(pooled(x, options));
  Symbol y = GlobalAveragePooling2D(false, name + "_head_gap")(x.x);
  y = LayerNormalization({.epsilon = kFine, .name = name + "_head_layernorm"})(y);
  return Dense({.units = options.classes, .activation = options.classifier_activation, .name = name + "_head_dense"})(
      y);
}

Model convnext(const Options& options, int deep, int64_t width, const char* default_name) {
  expect_options(options, default_name, {.preprocessing = true});
  const std::string name = options.name.empty() ? default_name : options.name;
  const Map input = image(options, {.size = 224});
  Map x = input;
  if (options.include_preprocessing && x.channels == 3) {
    const auto squared = [](double v) { return static_cast<float>(v * 255 * v * 255); };
    x = apply(x, Normalization({.mean = {0.485F * 255, 0.456F * 255, 0.406F * 255},
                                .variance = {squared(0.229), squared(0.224), squared(0.225)},
                                .name = name + "_prestem_normalization"}));
  }
  const std::array<int, 4> depths{3, 3, deep, 3};
  for (int stage = 0; stage < 4; ++stage) {
    x = patches(x, width << stage, stage == 0 ? 4 : 2, name, stage);
    for (int i = 0; i < depths[static_cast<size_t>(stage)]; ++i)
      x = convnext_block(x, cat(name, "_stage_", stage, "_block_", i));
  }
  return finish(input, convnext_top(x, options, name), options, name);
}

}  // namespace

Model ConvNeXtTiny(const Options& options) { return convnext(options, 9, 96, "convnext_tiny"); }
Model ConvNeXtSmall(const Options& options) { return convnext(options, 27, 96, "convnext_small"); }
Model ConvNeXtBase(const Options& options) { return convnext(options, 27, 128, "convnext_base"); }
Model ConvNeXtLarge(const Options& options) { return convnext(options, 27, 192, "convnext_large"); }
Model ConvNeXtXLarge(const Options& options) { return convnext(options, 27, 256, "convnext_xlarge"); }

}  // namespace tenon::applications
