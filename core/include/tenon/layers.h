// Layers with Keras's names, defaults and formulas, as functions that build a graph.
//
//   Tensor x = max_pool2d(conv2d(features["image"], {.filters = 32, .kernel = 3, .activation = relu}), 2);
//   x = dropout(dense(flatten(x), {.units = 128, .activation = relu}), 0.25, mode);
//   Tensor logits = dense(x, {.units = 10});
//
// A layer makes its variables ("conv2d/kernel", "conv2d_1/kernel", ..., or under `name`) in the graph of
// its input and returns its output. Images are NHWC, kernels HWIO; any float dtype, f32 by default.
// Mistakes throw tenon::Error: `conv2d 'block3/a': input has 64 channels, filter expects 32`.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tenon/initializer.h"
#include "tenon/ops.h"
#include "tenon/variables.h"

namespace tenon {

// Training draws dropout and uses batch moments; evaluation and prediction do not.
enum class Mode : uint8_t { kTrain, kEval, kPredict };

inline constexpr Activation linear = Activation::kNone;
inline constexpr Activation relu = Activation::kRelu;
inline constexpr Activation relu6 = Activation::kRelu6;
inline constexpr Activation leaky_relu = Activation::kLeakyRelu;
inline constexpr Activation elu = Activation::kElu;
inline constexpr Activation selu = Activation::kSelu;
inline constexpr Activation sigmoid = Activation::kSigmoid;
inline constexpr Activation softplus = Activation::kSoftplus;
inline constexpr Activation gelu = Activation::kGelu;
inline constexpr Activation silu = Activation::kSilu;
inline constexpr Activation mish = Activation::kMish;
inline constexpr Activation hard_sigmoid = Activation::kHardSigmoid;
inline constexpr Activation hard_swish = Activation::kHardSwish;

enum class Padding : uint8_t { kValid, kSame, kCausal };
inline constexpr Padding valid = Padding::kValid;
inline constexpr Padding same = Padding::kSame;

// An initializer that may need the kernel's shape: `glorot_uniform`, or any Initializer.
class InitializerRule {
 public:
  InitializerRule() = default;
  InitializerRule(Initializer fixed) : rule_([fixed](const Shape&) { return fixed; }) {}  // NOLINT: implicit
  InitializerRule(Initializer (*of_shape)(const Shape&)) : rule_(of_shape) {}             // NOLINT: implicit
  explicit operator bool() const { return static_cast<bool>(rule_); }
  Initializer operator()(const Shape& shape) const { return rule_(shape); }

 private:
  std::function<Initializer(const Shape&)> rule_;
};

// A penalty added to the loss: l1 * sum |w| + l2 * sum w^2.
struct Regularizer {
  double l1 = 0, l2 = 0;
};

// Height and width (or any spatial sizes): `3` means 3 in each dimension.
class Extent {
 public:
  Extent(int64_t all) : sizes_{all} {}                                  // NOLINT: implicit by design
  Extent(std::initializer_list<int64_t> each) : sizes_(each) {}         // NOLINT
  explicit Extent(Ints each) : sizes_(std::move(each)) {}
  // One size a dimension. Throws Error when there is another number of them.
  Ints of(int dimensions) const;

 private:
  Ints sizes_;
};

// ---- core ----
struct DenseOptions {
  int64_t units = 0;
  Activation activation = linear;
  bool use_bias = true;
  InitializerRule kernel_initializer = &glorot_uniform;
  InitializerRule bias_initializer = zeros();
  Regularizer kernel_regularizer = {};
  bool trainable = true;
  std::string name = "dense";
};
// x[.., C] -> [.., units].
Tensor dense(Tensor x, const DenseOptions& options);

// Keras's rate: each element is 0 with probability `rate`, else divided by 1 - rate; identity unless training.
Tensor dropout(Tensor x, double rate, Mode mode, std::string_view name = "dropout");
Tensor flatten(Tensor x);  // [B, ..] -> [B, n]; [B] -> [B, 1]
struct EmbeddingOptions {
  int64_t input_dim = 0, output_dim = 0;
  InitializerRule embeddings_initializer = random_uniform();
  bool trainable = true;
  std::string name = "embedding";
};
// indices I[..] -> [.., output_dim]; an index out of range gives zeros.
Tensor embedding(Tensor indices, const EmbeddingOptions& options);

// ---- convolution ----
struct ConvLayerOptions {
  int64_t filters = 0;
  Extent kernel = 1;
  Extent strides = 1;
  Padding padding = valid;
  Extent dilation = 1;
  int64_t groups = 1;
  Activation activation = linear;
  bool use_bias = true;
  InitializerRule kernel_initializer = &glorot_uniform;
  InitializerRule bias_initializer = zeros();
  Regularizer kernel_regularizer = {};
  bool trainable = true;
  std::string name = {};  // "conv2d", ...
};
Tensor conv1d(Tensor x, const ConvLayerOptions& options);
Tensor conv2d(Tensor x, const ConvLayerOptions& options);
// filters is ignored: channels * depth_multiplier. Kernel [h, w, C, depth_multiplier].
Tensor depthwise_conv2d(Tensor x, const ConvLayerOptions& options, int64_t depth_multiplier = 1);

// ---- pooling ----
struct PoolLayerOptions {
  Extent pool_size = 2;
  std::optional<Extent> strides = {};  // pool_size
  Padding padding = valid;
};
Tensor max_pool2d(Tensor x, const PoolLayerOptions& options);
Tensor max_pool2d(Tensor x, int64_t pool_size);
Tensor average_pool2d(Tensor x, const PoolLayerOptions& options);
Tensor average_pool2d(Tensor x, int64_t pool_size);
Tensor global_average_pool2d(Tensor x, bool keepdims = false);  // [B,H,W,C] -> [B,C]
Tensor global_max_pool2d(Tensor x, bool keepdims = false);

// ---- normalization ----
struct BatchNormOptions {
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true, scale = true;
  // Fused: act(normalized + residual).
  Activation activation = linear;
  Tensor residual = {};
  bool trainable = true;
  std::string name = "batch_normalization";
};
// Training: batch moments (population variance), moving = momentum * moving + (1 - momentum) * batch.
// Otherwise, or not trainable: the moving ones. Variables gamma, beta, moving_mean, moving_variance.
Tensor batch_normalization(Tensor x, Mode mode, const BatchNormOptions& options = {});
struct LayerNormOptions {
  double epsilon = 1e-3;
  bool center = true, scale = true;
  bool trainable = true;
  std::string name = "layer_normalization";
};
Tensor layer_normalization(Tensor x, const LayerNormOptions& options = {});

// ---- merging, shaping ----
Tensor activate(Tensor x, Activation activation, double alpha = 0);
Tensor add_layers(const Tensors& xs);  // Keras's Add
Tensor concatenate(const Tensors& xs, int64_t axis = -1);
Tensor zero_padding2d(Tensor x, Extent padding);  // {h, w} or {top, bottom, left, right}

}  // namespace tenon
