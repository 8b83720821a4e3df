// Layers with Keras's names, defaults and formulas, as functions that build a graph.
//
//   Tensor x = max_pool2d(conv2d(features["image"], {.filters = 32, .kernel = 3, .activation = relu}), 2);
//   x = dropout(dense(flatten(x), {.units = 128, .activation = relu}), 0.25);
//   Tensor logits = dense(x, {.units = 10});
//
// A layer makes its variables ("conv2d/kernel", "conv2d_1/kernel", ..., or under `name`) in the graph of
// its input and returns its output. Whether it is being trained it asks the graph (mode_of). Images are NHWC, kernels
// HWIO; any float dtype, f32 by default. Mistakes throw tenon::Error: `conv2d 'block3/a': input has 64 channels, filter
// expects 32`.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tenon/activations.h"
#include "tenon/constraints.h"
#include "tenon/initializer.h"
#include "tenon/ops.h"
#include "tenon/variables.h"

namespace tenon {

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

// A penalty added to the loss: l1 * sum |w| + l2 * sum w^2, and one's own. That of an activation is divided by the
// batch.
struct Regularizer {
  double l1 = 0, l2 = 0;
  std::function<Tensor(Tensor w)> own = {};  // of f32: a scalar
  explicit operator bool() const { return l1 != 0 || l2 != 0 || own; }
};
inline Regularizer L1(double l1 = 0.01) { return {l1, 0}; }
inline Regularizer L2(double l2 = 0.01) { return {0, l2}; }
inline Regularizer L1L2(double l1 = 0, double l2 = 0) { return {l1, l2}; }
// factor times the mean |cosine| of the angles between each two "rows" or "columns" of a matrix.
Regularizer OrthogonalRegularizer(double factor = 0.01, const std::string& mode = "rows");

// Height and width (or any spatial sizes): `3` means 3 in each dimension.
class Extent {
 public:
  Extent(int64_t all) : sizes_{all} {}                           // NOLINT: implicit by design
  Extent(std::initializer_list<int64_t> each) : sizes_(each) {}  // NOLINT
  explicit Extent(Ints each) : sizes_(std::move(each)) {}
  // One size a dimension. Throws Error when there is another number of them.
  Ints of(int dimensions) const;
  size_t count() const { return sizes_.size(); }

 private:
  Ints sizes_;
};

// ---- core ----
struct DenseOptions {
  int64_t units = 0;
  ActivationRule activation = linear;
  bool use_bias = true;
  InitializerRule kernel_initializer = &glorot_uniform;
  InitializerRule bias_initializer = zeros();
  Regularizer kernel_regularizer = {}, bias_regularizer = {}, activity_regularizer = {};
  Constraint kernel_constraint = {}, bias_constraint = {};
  bool trainable = true;
  std::string name = "dense";
};
// x[.., C] -> [.., units].
Tensor dense(Tensor x, const DenseOptions& options);

struct DropoutOptions {
  double rate = 0;       // 0 to 1
  Tensor residual = {};  // of x's type; added afterwards, while training in the same op
  std::string name = "dropout";
};
// Each element is 0 with probability `rate`, else divided by 1 - rate; identity unless training.
Tensor dropout(Tensor x, const DropoutOptions& options);
Tensor dropout(Tensor x, double rate);
struct SpatialDropoutOptions {
  double rate = 0;
  std::string name = {};  // "spatial_dropout1d", "spatial_dropout2d"
};
// The same with one draw for each sample and channel: x[B,H,W,C] loses whole maps.
Tensor spatial_dropout2d(Tensor x, const SpatialDropoutOptions& options);
Tensor spatial_dropout2d(Tensor x, double rate);
Tensor spatial_dropout1d(Tensor x, const SpatialDropoutOptions& options);  // x[B,T,C]
Tensor spatial_dropout1d(Tensor x, double rate);
Tensor flatten(Tensor x);  // [B, ..] -> [B, n]; [B] -> [B, 1]
struct ReshapeOptions {
  Ints target_shape = {};  // of an example; one size may be -1: what is left
  std::string name = "reshape";
};
// [B, ..] -> [B, target_shape..]: reshape(x, ReshapeOptions{.target_shape = {6, -1}}) or Reshape({6, -1})(x). In braces
// alone are the sizes of the op of this name, the batch among them.
Tensor reshape(Tensor x, const ReshapeOptions& options);
struct PermuteOptions {
  Ints dims = {};
  std::string name = "permute";
};
// [B, ..] with its other axes in another order, numbered from 1 as Keras does: {2, 1} swaps the two of [B, T, C].
Tensor permute(Tensor x, const PermuteOptions& options);
Tensor permute(Tensor x, const Ints& dims);
struct EmbeddingOptions {
  int64_t input_dim = 0, output_dim = 0;
  InitializerRule embeddings_initializer = random_uniform();
  Regularizer embeddings_regularizer = {};
  Constraint embeddings_constraint = {};
  bool mask_zero = false;  // 0 pads: such steps do not count (tenon/masking.h)
  bool trainable = true;
  std::string name = "embedding";
};
// indices I[..] -> [.., output_dim]; an index out of range gives zeros. Indices of f32 and f64 lose what is behind the
// point, as in Keras.
Tensor embedding(Tensor indices, const EmbeddingOptions& options);

// ---- attention ----
struct MultiHeadAttentionOptions {
  int64_t num_heads = 0;
  int64_t key_dim = 0;    // of each head's query and key
  int64_t value_dim = 0;  // of each head's value; 0: key_dim
  double dropout = 0;     // of the attention weights, 0 to less than 1
  bool use_bias = true;
  int64_t output_shape = 0;  // the last size of the result; 0: the query's
  InitializerRule kernel_initializer = &glorot_uniform;
  InitializerRule bias_initializer = zeros();
  Regularizer kernel_regularizer = {}, bias_regularizer = {}, activity_regularizer = {};
  Constraint kernel_constraint = {}, bias_constraint = {};
  bool trainable = true;
  std::string name = "multi_head_attention";
  // What a call takes.
  Tensor key = {};               // [B, S, ..]; the value
  Tensor attention_mask = {};    // [T, S], [B, T, S] or [B, heads, T, S], 1 where it repeats: not 0 where i may see j
  bool use_causal_mask = false;  // query i sees keys j <= i
};
// query[B, T, C] and value[B, S, ..] -> [B, T, output_shape]: attention over softmax(q k' / sqrt(key_dim)), head by
// head. Variables query/kernel [C, heads, key_dim], query/bias [heads, key_dim], key/.., value/..,
// attention_output/kernel [heads, value_dim, output_shape], attention_output/bias. A kernel initializer sees the matrix
// [in, out] that a kernel is, heads times size as one. A query that may see no key sees all of them alike, as in Keras.
Tensor multi_head_attention(Tensor query, Tensor value, const MultiHeadAttentionOptions& options);
struct GroupQueryAttentionOptions {
  int64_t head_dim = 0;
  int64_t num_query_heads = 0, num_key_value_heads = 0;  // the first a multiple of the second
  double dropout = 0;
  bool use_bias = true;
  InitializerRule kernel_initializer = &glorot_uniform;
  InitializerRule bias_initializer = zeros();
  Regularizer kernel_regularizer = {}, bias_regularizer = {}, activity_regularizer = {};
  Constraint kernel_constraint = {}, bias_constraint = {};
  bool trainable = true;
  std::string name = "grouped_query_attention";  // as Keras calls it
  // What a call takes, as above.
  Tensor key = {};
  Tensor attention_mask = {};
  bool use_causal_mask = false;
};
// The same with fewer heads of keys and values than of queries: each serves as many queries' heads in turn, the first
// those from 0 on (Ainslie et al. 2023). Kernels of key and value are [C, num_key_value_heads, head_dim].
Tensor group_query_attention(Tensor query, Tensor value, const GroupQueryAttentionOptions& options);

// ---- convolution ----
struct ConvLayerOptions {
  int64_t filters = 0;
  Extent kernel = 1;
  Extent strides = 1;
  Padding padding = valid;
  Extent dilation = 1;
  int64_t groups = 1;
  int64_t depth_multiplier = 1;  // of the two depthwise ones
  ActivationRule activation = linear;
  bool use_bias = true;
  InitializerRule kernel_initializer = &glorot_uniform;
  InitializerRule bias_initializer = zeros();
  Regularizer kernel_regularizer = {}, bias_regularizer = {}, activity_regularizer = {};
  Constraint kernel_constraint = {}, bias_constraint = {};
  bool trainable = true;
  std::string name = {};  // "conv2d", ...
};
Tensor conv1d(Tensor x, const ConvLayerOptions& options);
Tensor conv2d(Tensor x, const ConvLayerOptions& options);
// filters is ignored: channels * depth_multiplier. Kernel [h, w, C, depth_multiplier].
Tensor depthwise_conv2d(Tensor x, const ConvLayerOptions& options);
// A depthwise convolution (strides, dilation, padding; variable depthwise_kernel [h, w, C, m]), then a 1x1 convolution
// (pointwise_kernel [1, 1, C m, filters]) with bias and activation. kernel_initializer and kernel_regularizer are
// those of both kernels.
Tensor separable_conv2d(Tensor x, const ConvLayerOptions& options);
struct ConvTransposeOptions {
  int64_t filters = 0;
  Extent kernel = 1;
  Extent strides = 1;
  Padding padding = valid;
  Extent dilation = 1;
  // Rows and columns that the result has more; none given: as many as valid or same imply.
  std::optional<Extent> output_padding = {};
  ActivationRule activation = linear;
  bool use_bias = true;
  InitializerRule kernel_initializer = &glorot_uniform;
  InitializerRule bias_initializer = zeros();
  Regularizer kernel_regularizer = {}, bias_regularizer = {}, activity_regularizer = {};
  Constraint kernel_constraint = {}, bias_constraint = {};
  bool trainable = true;
  std::string name = "conv2d_transpose";
};
// The transpose of conv2d: x[B,H,W,C], kernel [h, w, filters, C]. With K = (kernel - 1) dilation + 1, valid gives
// (n - 1) stride + K + (output_padding, else max(stride - K, 0)) rows for n, same gives n stride, or with
// output_padding (n - 1) stride + K mod 2 + output_padding.
Tensor conv2d_transpose(Tensor x, const ConvTransposeOptions& options);

// ---- pooling ----
struct PoolLayerOptions {
  Extent pool_size = 2;
  std::optional<Extent> strides = {};  // pool_size
  Padding padding = valid;
  std::string name = {};  // "max_pooling2d", ...
};
// NaN is the largest. The gradient goes to a window's first NaN or, where there is none, to the first of the largest.
Tensor max_pool2d(Tensor x, const PoolLayerOptions& options = {});
Tensor max_pool2d(Tensor x, int64_t pool_size);
Tensor average_pool2d(Tensor x, const PoolLayerOptions& options = {});
Tensor average_pool2d(Tensor x, int64_t pool_size);
// x[B,T,C]; pool_size and strides have one number.
Tensor max_pool1d(Tensor x, const PoolLayerOptions& options = {});
Tensor average_pool1d(Tensor x, const PoolLayerOptions& options = {});
Tensor global_average_pool2d(Tensor x, bool keepdims = false);  // [B,H,W,C] -> [B,C]
Tensor global_max_pool2d(Tensor x, bool keepdims = false);
Tensor global_average_pool1d(Tensor x, bool keepdims = false);  // [B,T,C] -> [B,C]
Tensor global_max_pool1d(Tensor x, bool keepdims = false);

// ---- normalization ----
struct BatchNormOptions {
  int64_t axis =
      -1;  // whose elements each have moments, gamma and beta of their own; another than the last costs two transposes
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true, scale = true;
  Regularizer beta_regularizer = {}, gamma_regularizer = {};
  Constraint beta_constraint = {}, gamma_constraint = {};
  // Fused: act(normalized + residual).
  ActivationRule activation = linear;
  Tensor residual = {};
  bool trainable = true;
  bool synchronized = false;  // on several units the moments are those of the whole batch, not each unit's own
  std::string name = "batch_normalization";
};
// Training: batch moments (population variance), moving = momentum * moving + (1 - momentum) * batch.
// Otherwise, or not trainable: the moving ones. Variables gamma, beta, moving_mean, moving_variance, in f32
// whatever x is.
Tensor batch_normalization(Tensor x, const BatchNormOptions& options = {});
struct LayerNormOptions {
  Ints axes = {-1};  // of the mean and the variance; gamma and beta have their sizes
  double epsilon = 1e-3;
  bool center = true, scale = true;
  Regularizer beta_regularizer = {}, gamma_regularizer = {};
  Constraint beta_constraint = {}, gamma_constraint = {};
  bool trainable = true;
  std::string name = "layer_normalization";
};
// (x - mean) / sqrt(variance + epsilon) * gamma + beta, moments of each sample.
Tensor layer_normalization(Tensor x, const LayerNormOptions& options = {});
struct GroupNormOptions {
  int64_t groups = 32;  // of channels; -1: each channel is one
  double epsilon = 1e-3;
  bool center = true, scale = true;
  Regularizer beta_regularizer = {}, gamma_regularizer = {};
  Constraint beta_constraint = {}, gamma_constraint = {};
  bool trainable = true;
  std::string name = "group_normalization";
};
// The same with the moments of each sample's groups of channels. x[B, .., C], gamma and beta [C].
Tensor group_normalization(Tensor x, const GroupNormOptions& options = {});
struct RmsNormOptions {
  double epsilon = 1e-6;
  bool trainable = true;
  std::string name = "rms_normalization";
};
// x / sqrt(mean of x^2 over the last axis + epsilon) * scale.
Tensor rms_normalization(Tensor x, const RmsNormOptions& options = {});
// x divided by its Euclidean norm over the last axis, which counts as 1e-12 at least.
Tensor unit_normalization(Tensor x);

// ---- activations that learn ----
struct PreluOptions {
  Ints shared_axes = {};  // from 1; alpha has size 1 there
  InitializerRule alpha_initializer = zeros();
  Regularizer alpha_regularizer = {};
  Constraint alpha_constraint = {};
  bool trainable = true;
  std::string name = "p_re_lu";
};
// x, or alpha x below 0, with one learned alpha for each position of a sample.
Tensor prelu(Tensor x, const PreluOptions& options = {});

// ---- merging, shaping ----
// Elementwise, of tensors whose shapes NumPy's rule broadcasts.
Tensor add(const Tensors& xs);
Tensor subtract(const Tensors& xs);  // the second from the first
Tensor multiply(const Tensors& xs);
Tensor average(const Tensors& xs);
Tensor maximum(const Tensors& xs);
Tensor minimum(const Tensors& xs);
Tensor concatenate(const Tensors& xs, int64_t axis = -1);
// x scale + offset. Integers (pixels) become f32.
Tensor rescaling(Tensor x, double scale, double offset = 0);
// Images: {n} on all sides, {h, w} above and below, left and right, or {top, bottom, left, right}.
Tensor zero_padding2d(Tensor x, const Extent& padding = 1);
Tensor cropping2d(Tensor x, const Extent& cropping);
Tensor up_sampling2d(Tensor x, const Extent& size = 2);  // repeats rows and columns: "nearest"
// The same, or between them the bilinear mix (half-pixel centres).
Tensor up_sampling2d(Tensor x, const Extent& size, ResizeMethod interpolation);

}  // namespace tenon
