// The layers of Keras as objects, each of which calls the function of layers.h that has its name.
//
// Where two layers without names are called in one expression, `Dense(3)(x) - Dense(3)(x)`, C++ leaves open which is
// called first, and so is "dense". Give them names, or call each in a statement of its own.
#pragma once

#include <concepts>

#include "tenon/layer.h"
#include "tenon/layers.h"
#include "tenon/model.h"

namespace tenon {

// A layer whose call() is a function of one tensor and options.
template <class Self, class Options, Tensor (*function)(Tensor, const Options&)>
class FunctionLayer : public LayerOf<Self> {
 public:
  explicit FunctionLayer(const Options& options = {}) : LayerOf<Self>(asked_name(options)), options_(options) {}
  const Options& options() const { return options_; }
  Tensor call(Tensor x) override { return function(x, options_); }

 protected:
  bool is_function() const override { return true; }

 private:
  static std::string asked_name(const Options& options) {
    if constexpr (requires { options.name; }) return options.name == Options{}.name ? std::string() : options.name;
    return {};
  }
  Options options_;
};

// The same without options.
template <class Self, Tensor (*function)(Tensor)>
class PlainLayer : public LayerOf<Self> {
 public:
  explicit PlainLayer(std::string name = {}) : LayerOf<Self>(std::move(name)) {}
  Tensor call(Tensor x) override { return function(x); }

 protected:
  bool is_function() const override { return true; }
};

// A function of one tensor and one value.
template <class Self, class Value, Tensor (*function)(Tensor, Value)>
class ValueLayer : public LayerOf<Self> {
 public:
  explicit ValueLayer(Value value, std::string name = {}) : LayerOf<Self>(std::move(name)), value_(value) {}
  Tensor call(Tensor x) override { return function(x, value_); }

 protected:
  bool is_function() const override { return true; }

 private:
  std::decay_t<Value> value_;
};

// A function of several tensors.
template <class Self, Tensor (*function)(const Tensors&)>
class MergeLayer : public LayerOf<Self> {
 public:
  explicit MergeLayer(std::string name = {}) : LayerOf<Self>(std::move(name)) {}
  Tensor call(const Tensors& xs) override { return function(xs); }

 protected:
  bool is_function() const override { return true; }
};

// ---- core ----
class Dense : public FunctionLayer<Dense, DenseOptions, dense> {
 public:
  using FunctionLayer::FunctionLayer;
  explicit Dense(int64_t units) : Dense(DenseOptions{.units = units}) {}
};
class Embedding : public FunctionLayer<Embedding, EmbeddingOptions, embedding> {
 public:
  using FunctionLayer::FunctionLayer;
};
class Flatten : public PlainLayer<Flatten, flatten> {
 public:
  using PlainLayer::PlainLayer;
};
class Dropout : public FunctionLayer<Dropout, DropoutOptions, dropout> {
 public:
  using FunctionLayer::FunctionLayer;
  explicit Dropout(double rate) : FunctionLayer({.rate = rate}) {}
};
class SpatialDropout1D : public FunctionLayer<SpatialDropout1D, SpatialDropoutOptions, spatial_dropout1d> {
 public:
  using FunctionLayer::FunctionLayer;
  explicit SpatialDropout1D(double rate) : FunctionLayer({.rate = rate}) {}
};
class SpatialDropout2D : public FunctionLayer<SpatialDropout2D, SpatialDropoutOptions, spatial_dropout2d> {
 public:
  using FunctionLayer::FunctionLayer;
  explicit SpatialDropout2D(double rate) : FunctionLayer({.rate = rate}) {}
};
class Reshape : public FunctionLayer<Reshape, ReshapeOptions, reshape> {
 public:
  using FunctionLayer::FunctionLayer;
  // Reshape({6, -1})
  template <std::integral... Size>
  requires(sizeof...(Size) > 0) Reshape(Size... target_shape)  // NOLINT: an initializer_list would take options too
      : FunctionLayer(ReshapeOptions{.target_shape = {static_cast<int64_t>(target_shape)...}}) {}
};
class Permute : public FunctionLayer<Permute, PermuteOptions, permute> {
 public:
  using FunctionLayer::FunctionLayer;
  // Permute({2, 1})
  template <std::integral... Axis>
  requires(sizeof...(Axis) > 0) Permute(Axis... dims)  // NOLINT: as Reshape
      : FunctionLayer(PermuteOptions{.dims = {static_cast<int64_t>(dims)...}}) {}
  template <std::same_as<Ints> Dims>
  explicit Permute(const Dims& dims) : FunctionLayer(PermuteOptions{.dims = dims}) {}
  Permute(const Ints& dims, std::string name) : FunctionLayer(PermuteOptions{.dims = dims, .name = std::move(name)}) {}
};
class Rescaling : public LayerOf<Rescaling> {
 public:
  explicit Rescaling(double scale, double offset = 0, std::string name = {})
      : LayerOf(std::move(name)), scale_(scale), offset_(offset) {}
  Tensor call(Tensor x) override { return rescaling(x, scale_, offset_); }

 protected:
  bool is_function() const override { return true; }

 private:
  double scale_, offset_;
};

// Called with {query, value}, {query, value, key} or {query, value, key, attention_mask}.
class MultiHeadAttention : public LayerOf<MultiHeadAttention> {
 public:
  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options)
      : LayerOf(options.name == MultiHeadAttentionOptions{}.name ? std::string() : options.name), options_(options) {}
  Tensor call(const Tensors& xs) override;

 protected:
  bool is_function() const override { return true; }

 private:
  MultiHeadAttentionOptions options_;
};

class GroupQueryAttention : public LayerOf<GroupQueryAttention> {
 public:
  explicit GroupQueryAttention(const GroupQueryAttentionOptions& options)
      : LayerOf(options.name == GroupQueryAttentionOptions{}.name ? std::string() : options.name), options_(options) {}
  Tensor call(const Tensors& xs) override;

 protected:
  std::string kind() const override { return "grouped_query_attention"; }
  bool is_function() const override { return true; }

 private:
  GroupQueryAttentionOptions options_;
};

// Gives x, whose mask stays.
class Identity : public LayerOf<Identity> {
 public:
  explicit Identity(std::string name = {}) : LayerOf(std::move(name)) {}
  Tensor call(Tensor x) override { return x; }
};

// ---- merging ----
class Concatenate : public LayerOf<Concatenate> {
 public:
  explicit Concatenate(int64_t axis = -1, std::string name = {}) : LayerOf(std::move(name)), axis_(axis) {}
  Tensor call(const Tensors& xs) override { return concatenate(xs, axis_); }

 protected:
  bool is_function() const override { return true; }

 private:
  int64_t axis_;
};
class Add : public MergeLayer<Add, add> {
 public:
  using MergeLayer::MergeLayer;
};
class Subtract : public MergeLayer<Subtract, subtract> {
 public:
  using MergeLayer::MergeLayer;
};
class Multiply : public MergeLayer<Multiply, multiply> {
 public:
  using MergeLayer::MergeLayer;
};
class Average : public MergeLayer<Average, average> {
 public:
  using MergeLayer::MergeLayer;
};
class Maximum : public MergeLayer<Maximum, maximum> {
 public:
  using MergeLayer::MergeLayer;
};
class Minimum : public MergeLayer<Minimum, minimum> {
 public:
  using MergeLayer::MergeLayer;
};

// ---- convolution and pooling ----
class Conv1D : public FunctionLayer<Conv1D, ConvLayerOptions, conv1d> {
 public:
  using FunctionLayer::FunctionLayer;
};
class Conv2D : public FunctionLayer<Conv2D, ConvLayerOptions, conv2d> {
 public:
  using FunctionLayer::FunctionLayer;
};
class Conv2DTranspose : public FunctionLayer<Conv2DTranspose, ConvTransposeOptions, conv2d_transpose> {
 public:
  using FunctionLayer::FunctionLayer;
};
class DepthwiseConv2D : public FunctionLayer<DepthwiseConv2D, ConvLayerOptions, depthwise_conv2d> {
 public:
  using FunctionLayer::FunctionLayer;
};
class SeparableConv2D : public FunctionLayer<SeparableConv2D, ConvLayerOptions, separable_conv2d> {
 public:
  using FunctionLayer::FunctionLayer;
};
class MaxPooling2D : public FunctionLayer<MaxPooling2D, PoolLayerOptions, max_pool2d> {
 public:
  using FunctionLayer::FunctionLayer;
};
class AveragePooling2D : public FunctionLayer<AveragePooling2D, PoolLayerOptions, average_pool2d> {
 public:
  using FunctionLayer::FunctionLayer;
};
class MaxPooling1D : public FunctionLayer<MaxPooling1D, PoolLayerOptions, max_pool1d> {
 public:
  using FunctionLayer::FunctionLayer;
};
class AveragePooling1D : public FunctionLayer<AveragePooling1D, PoolLayerOptions, average_pool1d> {
 public:
  using FunctionLayer::FunctionLayer;
};
class GlobalMaxPooling1D : public ValueLayer<GlobalMaxPooling1D, bool, global_max_pool1d> {
 public:
  explicit GlobalMaxPooling1D(bool keepdims = false, std::string name = {}) : ValueLayer(keepdims, std::move(name)) {}
};
class GlobalMaxPooling2D : public ValueLayer<GlobalMaxPooling2D, bool, global_max_pool2d> {
 public:
  explicit GlobalMaxPooling2D(bool keepdims = false, std::string name = {}) : ValueLayer(keepdims, std::move(name)) {}
};
class GlobalAveragePooling1D : public ValueLayer<GlobalAveragePooling1D, bool, global_average_pool1d> {
 public:
  explicit GlobalAveragePooling1D(bool keepdims = false, std::string name = {})
      : ValueLayer(keepdims, std::move(name)) {}
};
class GlobalAveragePooling2D : public ValueLayer<GlobalAveragePooling2D, bool, global_average_pool2d> {
 public:
  explicit GlobalAveragePooling2D(bool keepdims = false, std::string name = {})
      : ValueLayer(keepdims, std::move(name)) {}
};
class ZeroPadding2D : public ValueLayer<ZeroPadding2D, const Extent&, zero_padding2d> {
 public:
  explicit ZeroPadding2D(const Extent& padding = 1, std::string name = {}) : ValueLayer(padding, std::move(name)) {}
};
class Cropping2D : public ValueLayer<Cropping2D, const Extent&, cropping2d> {
 public:
  explicit Cropping2D(const Extent& cropping = 0, std::string name = {}) : ValueLayer(cropping, std::move(name)) {}
};
class UpSampling2D : public LayerOf<UpSampling2D> {
 public:
  explicit UpSampling2D(const Extent& size = 2, std::string name = {})
      : UpSampling2D(size, ResizeMethod::kNearest, std::move(name)) {}
  UpSampling2D(const Extent& size, ResizeMethod interpolation, std::string name = {})
      : LayerOf(std::move(name)), size_(size), interpolation_(interpolation) {}
  Tensor call(Tensor x) override { return up_sampling2d(x, size_, interpolation_); }

 protected:
  bool is_function() const override { return true; }

 private:
  Extent size_;
  ResizeMethod interpolation_;
};

// ---- normalization ----
class LayerNormalization : public FunctionLayer<LayerNormalization, LayerNormOptions, layer_normalization> {
 public:
  using FunctionLayer::FunctionLayer;
};
class BatchNormalization : public FunctionLayer<BatchNormalization, BatchNormOptions, batch_normalization> {
 public:
  using FunctionLayer::FunctionLayer;
};
class GroupNormalization : public FunctionLayer<GroupNormalization, GroupNormOptions, group_normalization> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RMSNormalization : public FunctionLayer<RMSNormalization, RmsNormOptions, rms_normalization> {
 public:
  using FunctionLayer::FunctionLayer;
};
class UnitNormalization : public PlainLayer<UnitNormalization, unit_normalization> {
 public:
  using PlainLayer::PlainLayer;
};

// ---- activations ----
// Keras's Activation, which is the name of an enum here: ActivationLayer(tanh), ActivationLayer("softmax").
class ActivationLayer : public ValueLayer<ActivationLayer, const ActivationRule&, activate> {
 public:
  using ValueLayer::ValueLayer;

 protected:
  std::string kind() const override { return "activation"; }
};
class ReLU : public FunctionLayer<ReLU, ReluOptions, ReluFunction::with> {
 public:
  using FunctionLayer::FunctionLayer;
};
class LeakyReLU : public ValueLayer<LeakyReLU, double, LeakyReluFunction::with> {
 public:
  explicit LeakyReLU(double negative_slope = 0.3, std::string name = {})
      : ValueLayer(negative_slope, std::move(name)) {}
};
class ELU : public ValueLayer<ELU, double, EluFunction::with> {
 public:
  explicit ELU(double alpha = 1, std::string name = {}) : ValueLayer(alpha, std::move(name)) {}
};
// x where it is more than theta, else 0.
Tensor thresholded_relu(Tensor x, double theta);
class ThresholdedReLU : public ValueLayer<ThresholdedReLU, double, thresholded_relu> {
 public:
  explicit ThresholdedReLU(double theta = 1, std::string name = {}) : ValueLayer(theta, std::move(name)) {}
};
class PReLU : public FunctionLayer<PReLU, PreluOptions, prelu> {
 public:
  using FunctionLayer::FunctionLayer;
};
// softmax(); where x has a mask of its own shape, over what counts, and 0 elsewhere.
Tensor masked_softmax(Tensor x, int64_t axis);
class Softmax : public ValueLayer<Softmax, int64_t, masked_softmax> {
 public:
  explicit Softmax(int64_t axis = -1, std::string name = {}) : ValueLayer(axis, std::move(name)) {}
};

}  // namespace tenon
