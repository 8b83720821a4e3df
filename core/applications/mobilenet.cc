// MobileNet, MobileNetV2, MobileNetV3.
#include <cstdio>

#include "applications/maps.h"
#include "base/strings.h"

namespace tenon::applications {
namespace {

// A 1x1 convolution, normalized.
Map pointwise(const Map& x, int64_t filters, const BatchNormOptions& norm_options, const std::string& name,
              const std::string& norm_name) {
  BatchNormOptions normed = norm_options;
  normed.name = norm_name;
  return norm(conv(x, {.filters = filters, .padding = same, .use_bias = false, .name = name}), normed);
}

std::string sized_name(const char* model, double alpha, int64_t rows) {
  char width[32];
  std::snprintf(width, sizeof width, "%.2f", alpha);
  return cat(model, "_", width, "_", rows == kAnySize ? "None" : cat(rows));
}

// ---- MobileNet ----
Map separated(const Map& in, int64_t filters, int64_t stride, const Options& o, int block) {
  const auto named = [&](const char* part) { return cat("conv_", part, "_", block); };
  Map x = in;
  if (stride == 2) x = pad(x, {0, 1, 0, 1}, named("pad"));
  x = depthwise(x, {.kernel = 3,
                    .strides = stride,
                    .padding = stride == 1 ? same : valid,
                    .depth_multiplier = o.depth_multiplier,
                    .use_bias = false,
                    .name = named("dw")});
  x = re_lu(norm(x, {.name = named("dw") + "_bn"}), 6, named("dw") + "_relu");
  return re_lu(pointwise(x, filters, {}, named("pw"), named("pw") + "_bn"), 6, named("pw") + "_relu");
}

// ---- MobileNetV2 ----
const BatchNormOptions kSlow{.momentum = 0.999, .epsilon = 1e-3};

struct Inverted {
  int64_t expansion, filters, stride;
};
constexpr Inverted kSecond[] = {{1, 16, 1}, {6, 24, 2},  {6, 24, 1},  {6, 32, 2},  {6, 32, 1}, {6, 32, 1},
                                {6, 64, 2}, {6, 64, 1},  {6, 64, 1},  {6, 64, 1},  {6, 96, 1}, {6, 96, 1},
                                {6, 96, 1}, {6, 160, 2}, {6, 160, 1}, {6, 160, 1}, {6, 320, 1}};

Map slow_norm(const Map& x, const std::string& name) {
  BatchNormOptions options = kSlow;
  options.name = name;
  return norm(x, options);
}

Map inverted(const Map& in, const Inverted& block, double alpha, int number) {
  const std::string prefix = number == 0 ? "expanded_conv_" : cat("block_", number, "_");
  const int64_t filters = eights(static_cast<double>(static_cast<int64_t>(static_cast<double>(block.filters) * alpha)));
  Map x = in;
  if (number > 0) {
    x = pointwise(x, block.expansion * in.channels, kSlow, prefix + "expand", prefix + "expand_BN");
    x = re_lu(x, 6, prefix + "expand_relu");
  }
  if (block.stride == 2) x = pad(x, correct_pad(x, 3), prefix + "pad");
  x = depthwise(x, {.kernel = 3,
                    .strides = block.stride,
                    .padding = block.stride == 1 ? same : valid,
                    .use_bias = false,
                    .name = prefix + "depthwise"});
  x = re_lu(slow_norm(x, prefix + "depthwise_BN"), 6, prefix + "depthwise_relu");
  x = pointwise(x, filters, kSlow, prefix + "project", prefix + "project_BN");
  return in.channels == filters && block.stride == 1 ? add(in, x, prefix + "add") : x;
}

// ---- MobileNetV3 ----
struct Third {
  double expansion;
  int64_t filters, kernel, stride;
  bool excited, hard;  // squeeze and excite; hard swish, else ReLU
};
constexpr Third kSmall[] = {{1, 16, 3, 2, true, false},
                            {72.0 / 16, 24, 3, 2, false, false},
                            {88.0 / 24, 24, 3, 1, false, false},
                            {4, 40, 5, 2, true, true},
                            {6, 40, 5, 1, true, true},
                            {6, 40, 5, 1, true, true},
                            {3, 48, 5, 1, true, true},
                            {3, 48, 5, 1, true, true},
                            {6, 96, 5, 2, true, true},
                            {6, 96, 5, 1, true, true},
                            {6, 96, 5, 1, true, true}};
constexpr Third kLarge[] = {{1, 16, 3, 1, false, false},  {4, 24, 3, 2, false, false},  {3, 24, 3, 1, false, false},
                            {3, 40, 5, 2, true, false},   {3, 40, 5, 1, true, false},   {3, 40, 5, 1, true, false},
                            {6, 80, 3, 2, false, true},   {2.5, 80, 3, 1, false, true}, {2.3, 80, 3, 1, false, true},
                            {2.3, 80, 3, 1, false, true}, {6, 112, 3, 1, true, true},   {6, 112, 3, 1, true, true},
                            {6, 160, 5, 2, true, true},   {6, 160, 5, 1, true, true},   {6, 160, 5, 1, true, true}};

// Keras makes it of a ReLU, whose name it has, and of operators, which are no layers.
Tensor hard_gate(Tensor x) { return hard_sigmoid(x); }
class HardGate : public PlainLayer<HardGate, hard_gate> {
 public:
  using PlainLayer::PlainLayer;

 protected:
  std::string kind() const override { return "re_lu"; }
};

Map gated(const Map& in, int64_t squeezed, const std::string& prefix) {
  Symbol x = GlobalAveragePooling2D(true, prefix + "squeeze_excite_avg_pool")(in.x);
  x = Conv2D({.filters = squeezed, .padding = same, .name = prefix + "squeeze_excite_conv"})(x);
  x = ReLU({.name = prefix + "squeeze_excite_relu"})(x);
  x = Conv2D({.filters = in.channels, .padding = same, .name = prefix + "squeeze_excite_conv_1"})(x);
  x = HardGate()(x);
  return {Multiply(prefix + "squeeze_excite_mul")(std::vector{in.x, x}), in.height, in.width, in.channels};
}

Map hard_act(const Map& x, bool hard) { return hard ? act(x, hard_swish) : re_lu(x); }

Map third(const Map& in, const Third& block, const Options& o, int number) {
  const std::string prefix = number == 0 ? "expanded_conv_" : cat("expanded_conv_", number, "_");
  const int64_t kernel = o.minimalistic ? 3 : block.kernel;
  const bool hard = block.hard && !o.minimalistic, excited = block.excited && !o.minimalistic;
  const int64_t filters = eights(static_cast<double>(block.filters) * o.alpha.value_or(1));
  const int64_t wide = eights(static_cast<double>(in.channels) * block.expansion);
  Map x = in;
  if (number > 0) x = hard_act(pointwise(x, wide, kSlow, prefix + "expand", prefix + "expand_bn"), hard);
  if (block.stride == 2) x = pad(x, correct_pad(x, kernel), prefix + "depthwise_pad");
  x = depthwise(x, {.kernel = kernel,
                    .strides = block.stride,
                    .padding = block.stride == 1 ? same : valid,
                    .use_bias = false,
                    .name = prefix + "depthwise"});
  x = hard_act(slow_norm(x, prefix + "depthwise_bn"), hard);
  if (excited) x = gated(x, eights(static_cast<double>(wide) * 0.25), prefix);
  x = pointwise(x, filters, kSlow, prefix + "project", prefix + "project_bn");
  return block.stride == 1 && in.channels == filters ? add(in, x, prefix + "add") : x;
}

Symbol third_top(const Map& x, int64_t last, const Options& o, bool hard) {
  Map y{GlobalAveragePooling2D(true)(x.x), 1, 1, x.channels};
  y = hard_act(conv(y, {.filters = last, .padding = same, .name = "conv_2"}), hard);
  if (const double rate = o.dropout.value_or(0.2); rate > 0) y = apply(y, Dropout(rate));
  y = conv(y, {.filters = o.classes, .padding = same, .name = "logits"});
  return ActivationLayer(o.classifier_activation, "predictions")(Flatten()(y.x));
}

Model mobilenet_v3(const Options& o, std::span<const Third> blocks, int64_t last, const char* name) {
  expect_options(o, name, {.alpha = true, .minimalistic = true, .preprocessing = true, .dropout = true});
  const Map input = image(o, {.size = 224});
  const bool hard = !o.minimalistic;
  Map x = input;
  if (o.include_preprocessing) x = apply(x, Rescaling(1 / 127.5, -1));
  x = conv(x, {.filters = 16, .kernel = 3, .strides = 2, .padding = same, .use_bias = false, .name = "conv"});
  x = hard_act(slow_norm(x, "conv_bn"), hard);
  for (size_t i = 0; i < blocks.size(); ++i) x = third(x, blocks[i], o, static_cast<int>(i));
  x = hard_act(pointwise(x, eights(static_cast<double>(x.channels) * 6), kSlow, "conv_1", "conv_1_bn"), hard);
  if (!o.include_top) return finish(input, pooled(x, o, "avg_pool", "max_pool"), o, name);
  if (o.alpha.value_or(1) > 1) last = eights(static_cast<double>(last) * *o.alpha);
  return finish(input, third_top(x, last, o, hard), o, name);
}

}  // namespace

Model MobileNet(const Options& o) {
  expect_options(o, "MobileNet", {.alpha = true, .depth_multiplier = true, .dropout = true});
  const double alpha = o.alpha.value_or(1);
  const auto filters = [&](int64_t n) { return static_cast<int64_t>(static_cast<double>(n) * alpha); };
  const Map input = image(o, {.size = 224});
  Map x = conv(
      input, {.filters = filters(32), .kernel = 3, .strides = 2, .padding = same, .use_bias = false, .name = "conv1"});
  x = re_lu(norm(x, {.name = "conv1_bn"}), 6, "conv1_relu");
  constexpr struct {
    int64_t filters, stride;
  } kBlocks[] = {{64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
                 {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
  int number = 0;
  for (const auto& block : kBlocks) x = separated(x, filters(block.filters), block.stride, o, ++number);
  const std::string name = sized_name("mobilenet", alpha, input.height);
  if (!o.include_top) return finish(input, pooled(x, o), o, name);
  Symbol y = GlobalAveragePooling2D(true)(x.x);
  y = Dropout(o.dropout.value_or(1e-3))(y);
  y = Conv2D({.filters = o.classes, .padding = same, .name = "conv_preds"})(y);
  y = Reshape(ReshapeOptions{.target_shape = {o.classes}, .name = "reshape_2"})(y);
  return finish(input, ActivationLayer(o.classifier_activation, "predictions")(y), o, name);
}

Model MobileNetV2(const Options& o) {
  expect_options(o, "MobileNetV2", {.alpha = true});
  const double alpha = o.alpha.value_or(1);
  const Map input = image(o, {.size = 224});
  Map x = conv(
      input,
      {.filters = eights(32 * alpha), .kernel = 3, .strides = 2, .padding = same, .use_bias = false, .name = "Conv1"});
  x = re_lu(slow_norm(x, "bn_Conv1"), 6, "Conv1_relu");
  int number = 0;
  for (const Inverted& block : kSecond) x = inverted(x, block, alpha, number++);
  x = pointwise(x, alpha > 1 ? eights(1280 * alpha) : 1280, kSlow, "Conv_1", "Conv_1_bn");
  x = re_lu(x, 6, "out_relu");
  return finish(input, x, o, sized_name("mobilenetv2", alpha, input.height), {});
}

Model MobileNetV3Small(const Options& options) { return mobilenet_v3(options, kSmall, 1024, "MobileNetV3Small"); }
Model MobileNetV3Large(const Options& options) { return mobilenet_v3(options, kLarge, 1280, "MobileNetV3Large"); }

}  // namespace tenon::applications
