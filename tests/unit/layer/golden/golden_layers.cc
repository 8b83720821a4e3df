#include "unit/layer/golden/golden_layers.h"

#include "unit/layer/model_testing.h"

namespace tenon::golden {
namespace {

using model_testing::golden_bias;
using model_testing::golden_kernel;

DenseOptions dense_options(int64_t units) {
  return {.units = units, .kernel_initializer = &golden_kernel, .bias_initializer = &golden_bias};
}

ConvLayerOptions conv_options(int64_t filters, Extent kernel, Extent strides = 1, Padding padding = valid,
                              Extent dilation = 1, int64_t groups = 1) {
  return {.filters = filters,
          .kernel = kernel,
          .strides = strides,
          .padding = padding,
          .dilation = dilation,
          .groups = groups,
          .kernel_initializer = &golden_kernel,
          .bias_initializer = &golden_bias};
}

Layer with(Tensor (*layer)(Tensor, const ConvLayerOptions&), const ConvLayerOptions& o) {
  return [=](Tensor x) { return layer(x, o); };
}

ConvLayerOptions multiplied(ConvLayerOptions o) {
  o.depth_multiplier = 2;
  return o;
}

Layer transposed(int64_t filters, Extent kernel, Extent strides = 1, Padding padding = valid,
                 std::optional<Extent> output_padding = {}) {
  return [=](Tensor x) {
    return conv2d_transpose(x, {.filters = filters,
                                .kernel = kernel,
                                .strides = strides,
                                .padding = padding,
                                .output_padding = output_padding,
                                .kernel_initializer = &golden_kernel,
                                .bias_initializer = &golden_bias});
  };
}

void add_dense(std::map<std::string, Layer>& m) {
  m["Dense(20)"] = [](Tensor x) { return dense(x, dense_options(20)); };
  m["Dense(3)"] = [](Tensor x) { return dense(x, dense_options(3)); };
  m["Dense(3, activation='relu')"] = [](Tensor x) {
    DenseOptions o = dense_options(3);
    o.activation = relu;
    return dense(x, o);
  };
  m["Dense(20, use_bias=False)"] = [](Tensor x) {
    DenseOptions o = dense_options(20);
    o.use_bias = false;
    return dense(x, o);
  };
  m["Embedding(1000, 64)"] = [](Tensor x) {
    return embedding(cast(x, DType::kI32), {.input_dim = 1000, .output_dim = 64});
  };
  m["Embedding(5, 3) on ids [[1,4]]"] = [](Tensor x) {
    return embedding(cast(x, DType::kI32), {.input_dim = 5, .output_dim = 3, .embeddings_initializer = &golden_kernel});
  };
  m["Dropout(0.5)"] = [](Tensor x) { return dropout(x, 0.5); };
  m["SpatialDropout2D(0.5)"] = [](Tensor x) { return spatial_dropout2d(x, 0.5); };
}

void add_convolutions(std::map<std::string, Layer>& m) {
  m["Conv1D(8, 5)"] = with(conv1d, conv_options(8, 5));
  m["Conv1D(8, 5, padding='same', strides=2)"] = with(conv1d, conv_options(8, 5, 2, same));
  m["Conv1D(8, 3, padding='causal', dilation_rate=2)"] = with(conv1d, conv_options(8, 3, 1, Padding::kCausal, 2));
  m["Conv1D(2, 3, padding='causal', dilation_rate=2)"] = with(conv1d, conv_options(2, 3, 1, Padding::kCausal, 2));
  m["Conv2D(10, 5, padding='same')"] = with(conv2d, conv_options(10, 5, 1, same));
  m["Conv2D(8, 3)"] = with(conv2d, conv_options(8, 3));
  m["Conv2D(8, 3, strides=2)"] = with(conv2d, conv_options(8, 3, 2));
  m["Conv2D(8, 3, strides=2, padding='same')"] = with(conv2d, conv_options(8, 3, 2, same));
  m["Conv2D(8, (3, 5), dilation_rate=2)"] = with(conv2d, conv_options(8, {3, 5}, 1, valid, 2));
  m["Conv2D(8, 3, groups=2)"] = with(conv2d, conv_options(8, 3, 1, valid, 1, 2));
  m["Conv2D(2, 3)"] = with(conv2d, conv_options(2, 3));
  m["Conv2D(2, 3, padding='same')"] = with(conv2d, conv_options(2, 3, 1, same));
  m["Conv2D(2, 3, strides=2, padding='same')"] = with(conv2d, conv_options(2, 3, 2, same));
  m["Conv2D(2, 2, strides=2, padding='same')"] = with(conv2d, conv_options(2, 2, 2, same));
  m["Conv2D(2, 2, dilation_rate=2)"] = with(conv2d, conv_options(2, 2, 1, valid, 2));
  m["Conv2D(4, 3, groups=2)"] = with(conv2d, conv_options(4, 3, 1, valid, 1, 2));
  m["DepthwiseConv2D(3)"] = with(depthwise_conv2d, conv_options(0, 3));
  m["DepthwiseConv2D(3, depth_multiplier=2)"] = with(depthwise_conv2d, multiplied(conv_options(0, 3)));
  m["DepthwiseConv2D(3, depth_multiplier=2, strides=2, padding='same')"] =
      with(depthwise_conv2d, multiplied(conv_options(0, 3, 2, same)));
  m["SeparableConv2D(8, 3)"] = with(separable_conv2d, conv_options(8, 3));
  m["SeparableConv2D(2, 3)"] = with(separable_conv2d, conv_options(2, 3));
  ConvLayerOptions unbiased = conv_options(8, 3);
  unbiased.use_bias = false;
  m["SeparableConv2D(8, 3, depth_multiplier=2, use_bias=False)"] = with(separable_conv2d, multiplied(unbiased));
}

void add_transposed(std::map<std::string, Layer>& m) {
  m["Conv2DTranspose(8, 3)"] = transposed(8, 3);
  m["Conv2DTranspose(8, 3, strides=2)"] = transposed(8, 3, 2);
  m["Conv2DTranspose(8, 3, strides=2, padding='same')"] = transposed(8, 3, 2, same);
  m["Conv2DTranspose(8, 3, strides=2, padding='same', output_padding=1)"] = transposed(8, 3, 2, same, 1);
  m["Conv2DTranspose(8, 2, strides=3)"] = transposed(8, 2, 3);
  m["Conv2DTranspose(8, 3, strides=2, output_padding=1)"] = transposed(8, 3, 2, valid, 1);
  m["Conv2DTranspose(2, 3)"] = transposed(2, 3);
  m["Conv2DTranspose(2, 3, strides=2)"] = transposed(2, 3, 2);
  m["Conv2DTranspose(2, 3, strides=2, padding='same')"] = transposed(2, 3, 2, same);
  m["Conv2DTranspose(1, 2, strides=3)"] = transposed(1, 2, 3);
  m["Conv2DTranspose(1, 4, strides=2, padding='same')"] = transposed(1, 4, 2, same);
}

void add_normalizations(std::map<std::string, Layer>& m) {
  m["BatchNormalization()"] = [](Tensor x) { return batch_normalization(x); };
  m["BatchNormalization(scale=False)"] = [](Tensor x) { return batch_normalization(x, {.scale = false}); };
  m["BatchNormalization(center=False, scale=False)"] = [](Tensor x) {
    return batch_normalization(x, {.center = false, .scale = false});
  };
  m["LayerNormalization()"] = [](Tensor x) { return layer_normalization(x); };
  m["LayerNormalization(axis=[1, 2])"] = [](Tensor x) { return layer_normalization(x, {.axes = {1, 2}}); };
  m["GroupNormalization(groups=4)"] = [](Tensor x) { return group_normalization(x, {.groups = 4}); };
  m["GroupNormalization(groups=2)"] = [](Tensor x) { return group_normalization(x, {.groups = 2}); };
  m["RMSNormalization()"] = [](Tensor x) { return rms_normalization(x); };
  m["UnitNormalization()"] = [](Tensor x) { return unit_normalization(x); };
}

Layer attending(const MultiHeadAttentionOptions& sizes) {
  MultiHeadAttentionOptions o = sizes;
  o.kernel_initializer = &golden_kernel;
  o.bias_initializer = &golden_bias;
  return [=](Tensor x) { return multi_head_attention(x, x, o); };
}

void add_attention(std::map<std::string, Layer>& m) {
  m["MultiHeadAttention(4, 8)"] = attending({.num_heads = 4, .key_dim = 8});
  m["MultiHeadAttention(4, 8, value_dim=6, use_bias=False)"] =
      attending({.num_heads = 4, .key_dim = 8, .value_dim = 6, .use_bias = false});
  m["MultiHeadAttention(4, 8, output_shape=20)"] = attending({.num_heads = 4, .key_dim = 8, .output_shape = 20});
  m["MultiHeadAttention(2, 2)"] = attending({.num_heads = 2, .key_dim = 2});
  m["MultiHeadAttention(2, 2), use_causal_mask=True"] =
      attending({.num_heads = 2, .key_dim = 2, .use_causal_mask = true});
}

void add_pooling(std::map<std::string, Layer>& m) {
  m["MaxPooling2D()"] = [](Tensor x) { return max_pool2d(x); };
  m["MaxPooling2D(3, strides=2, padding='same')"] = [](Tensor x) {
    return max_pool2d(x, {.pool_size = 3, .strides = 2, .padding = same});
  };
  m["MaxPooling1D(3)"] = [](Tensor x) { return max_pool1d(x, {.pool_size = 3}); };
  m["AveragePooling2D(2, strides=1)"] = [](Tensor x) { return average_pool2d(x, {.pool_size = 2, .strides = 1}); };
  m["AveragePooling2D(3, padding='same')"] = [](Tensor x) {
    return average_pool2d(x, {.pool_size = 3, .padding = same});
  };
  m["AveragePooling2D(3, strides=2, padding='same')"] = [](Tensor x) {
    return average_pool2d(x, {.pool_size = 3, .strides = 2, .padding = same});
  };
  m["AveragePooling2D(2)"] = [](Tensor x) { return average_pool2d(x, 2); };
  m["GlobalAveragePooling2D()"] = [](Tensor x) { return global_average_pool2d(x); };
  m["GlobalAveragePooling2D(keepdims=True)"] = [](Tensor x) { return global_average_pool2d(x, true); };
  m["GlobalMaxPooling2D()"] = [](Tensor x) { return global_max_pool2d(x); };
  m["GlobalMaxPooling1D()"] = [](Tensor x) { return global_max_pool1d(x); };
}

void add_shaping(std::map<std::string, Layer>& m) {
  m["Flatten()"] = [](Tensor x) { return flatten(x); };
  m["Reshape((6, -1))"] = [](Tensor x) { return reshape(x, ReshapeOptions{.target_shape = {6, -1}}); };
  m["Permute((2, 1))"] = [](Tensor x) { return permute(x, {2, 1}); };
  m["Activation('relu')"] = [](Tensor x) { return activate(x, "relu"); };
  m["PReLU()"] = [](Tensor x) { return prelu(x); };
  m["PReLU(shared_axes=[1, 2])"] = [](Tensor x) { return prelu(x, {.shared_axes = {1, 2}}); };
  m["ZeroPadding2D()"] = [](Tensor x) { return zero_padding2d(x); };
  m["ZeroPadding2D(2)"] = [](Tensor x) { return zero_padding2d(x, 2); };
  m["ZeroPadding2D((1, 2))"] = [](Tensor x) { return zero_padding2d(x, {1, 2}); };
  m["ZeroPadding2D(((1, 2), (3, 4)))"] = [](Tensor x) { return zero_padding2d(x, {1, 2, 3, 4}); };
  m["Cropping2D()"] = [](Tensor x) { return cropping2d(x, 0); };
  m["Cropping2D(((1, 2), (0, 3)))"] = [](Tensor x) { return cropping2d(x, {1, 2, 0, 3}); };
  m["UpSampling2D()"] = [](Tensor x) { return up_sampling2d(x); };
  m["UpSampling2D(2)"] = [](Tensor x) { return up_sampling2d(x, 2); };
  m["Rescaling(1/255)"] = [](Tensor x) { return rescaling(x, 1.0 / 255); };
  m["Rescaling(0.5, offset=-1.0)"] = [](Tensor x) { return rescaling(x, 0.5, -1); };
}

}  // namespace

const std::map<std::string, Layer>& layers() {
  static const std::map<std::string, Layer> all = [] {
    std::map<std::string, Layer> m;
    add_dense(m);
    add_convolutions(m);
    add_transposed(m);
    add_normalizations(m);
    add_attention(m);
    add_pooling(m);
    add_shaping(m);
    add_more_layers(m);
    return m;
  }();
  return all;
}

bool is_absent(const std::string& layer) {
  for (const char* name : {"tf1 resize_area", "tf1 resize_bicubic", "tf.image", "Keras 2 "})
    if (layer.rfind(name, 0) == 0) return true;
  return false;
}

}  // namespace tenon::golden
