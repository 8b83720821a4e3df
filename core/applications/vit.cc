#include "applications/maps.h"
#include "base/strings.h"
#include "tenon/variables.h"

namespace tenon::applications {
namespace {

constexpr int64_t kPatch = 16, kWidth = 768, kHeads = 12, kLayers = 12, kInner = 3072;

// patches[B, n, C] -> [B, 1 + n, C]: a learned token before them, and to each a learned vector of its place.
class ClassTokenAndPlaces : public LayerOf<ClassTokenAndPlaces> {
 public:
  using LayerOf::LayerOf;
  Tensor call(Tensor x) override {
    const int64_t n = x.dim(1), c = x.dim(2);
    const Tensor token = cast(variable(x, "class_token", {1, 1, c}, zeros()), x.dtype());
    const Tensor places = cast(variable(x, "pos_embedding", {1, 1 + n, c}, random_normal(0, 0.02)), x.dtype());
    return tenon::concat({broadcast_to(token, {x.dim(0), 1, c}), x}, 1) + places;
  }
};

class FirstToken : public LayerOf<FirstToken> {
 public:
  using LayerOf::LayerOf;
  Tensor call(Tensor x) override {
    return reshape(slice(x, {0, 0, 0}, {x.dim(0), 1, x.dim(2)}, {1, 1, 1}), {x.dim(0), x.dim(2)});
  }
};

Symbol fine_norm(const Symbol& x, const std::string& name) {
  return LayerNormalization({.epsilon = 1e-6, .name = name})(x);
}

Symbol encoder_layer(const Symbol& in, const Options& options, const std::string& name) {
  const double rate = options.dropout.value_or(0);
  const auto dropped = [&](const Symbol& y) { return rate > 0 ? Dropout(rate)(y) : y; };
  Symbol y = fine_norm(in, name + "_ln_1");
  y = MultiHeadAttention({.num_heads = kHeads, .key_dim = kWidth / kHeads, .name = name + "_self_attention"})(
      std::vector{y, y});
  const Symbol x = Add(name + "_add_1")(std::vector{dropped(y), in});
  y = Dense({.units = kInner, .activation = gelu, .name = name + "_mlp_1"})(fine_norm(x, name + "_ln_2"));
  y = Dense({.units = kWidth, .name = name + "_mlp_2"})(dropped(y));
  return Add(name + "_add_2")(std::vector{dropped(y), x});
}

}  // namespace

Model ViTB16(const Options& options) {
  expect_options(options, "ViTB16", {.dropout = true});
  if (!options.pooling.empty()) fail("applications: ViTB16 gives its class token, and has no pooling");
  const Map input = image(options, {.size = 224, .any = false});
  if (input.height % kPatch != 0 || input.width % kPatch != 0)
    fail("applications: ViTB16's images are ", input.height, " x ", input.width, ", expected multiples of ", kPatch);
  const Map map = conv(input, {.filters = kWidth, .kernel = kPatch, .strides = kPatch, .name = "conv_proj"});
  Symbol x = Reshape(ReshapeOptions{.target_shape = {map.height * map.width, kWidth}, .name = "patches"})(map.x);
  x = ClassTokenAndPlaces("encoder_embedding")(x);
  for (int64_t i = 0; i < kLayers; ++i) x = encoder_layer(x, options, cat("encoder_layer_", i));
  x = FirstToken("class_token")(fine_norm(x, "encoder_ln"));
  if (!options.include_top) return finish(input, x, options, "vit_b_16");
  const Symbol y = Dense({.units = options.classes,
                          .activation = options.classifier_activation,
                          .kernel_initializer = zeros(),
                          .name = "head"})(x);
  return finish(input, y, options, "vit_b_16");
}

}  // namespace tenon::applications
