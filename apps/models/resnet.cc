// Residual networks, version 1 (He et al. 2015).
//   --depth 20   for CIFAR's 32x32: 3x3 stem, three stages of three basic blocks, 16 to 64 channels; 272,474
//                trainable parameters for 10 classes
//   --depth 18   for 224x224: basic blocks
//   --depth 50   for 224x224: bottleneck blocks in Keras's form (convolutions with bias, stride in the first 1x1,
//                epsilon 1.001e-5); 25,636,712 parameters for 1,000 classes
// Where a block changes size its shortcut is a 1x1 convolution with batch normalisation.
#include "models/models.h"

namespace tenon::models {
namespace {

struct Stage {
  int64_t blocks, filters, stride;
};

class Builder {
 public:
  Builder(const Params& params, bool bias, double epsilon, double momentum)
      : l2_(params.get<double>("l2", 0)), bias_(bias), epsilon_(epsilon), momentum_(momentum) {}

  Tensor conv(Tensor x, int64_t filters, int64_t kernel, int64_t stride, Padding padding = same) const {
    return conv2d(x, {.filters = filters,
                      .kernel = kernel,
                      .strides = stride,
                      .padding = padding,
                      .use_bias = bias_,
                      .kernel_initializer = &he_normal,
                      .kernel_regularizer = {.l2 = l2_}});
  }
  // activation(normalised(x) + residual), one op.
  Tensor norm(Tensor x, Activation activation, Tensor residual = {}) const {
    return batch_normalization(
        x, {.momentum = momentum_, .epsilon = epsilon_, .activation = activation, .residual = residual});
  }
  Tensor shortcut(Tensor x, int64_t filters, int64_t stride) const {
    if (stride == 1 && x.dim(-1) == filters) return x;
    return norm(conv(x, filters, 1, stride), linear);
  }

  Tensor basic(Tensor x, int64_t filters, int64_t stride) const {
    const Tensor residual = shortcut(x, filters, stride);
    const Tensor y = norm(conv(x, filters, 3, stride), relu);
    return norm(conv(y, filters, 3, 1), relu, residual);
  }
  Tensor bottleneck(Tensor x, int64_t filters, int64_t stride) const {
    const Tensor residual = shortcut(x, 4 * filters, stride);
    Tensor y = norm(conv(x, filters, 1, stride), relu);
    y = norm(conv(y, filters, 3, 1), relu);
    return norm(conv(y, 4 * filters, 1, 1), relu, residual);
  }

 private:
  double l2_;
  bool bias_;
  double epsilon_, momentum_;
};

// 7x7/2 and a 3x3/2 pool, padded on both sides alike.
Tensor large_stem(const Builder& build, Tensor x) {
  x = build.norm(build.conv(zero_padding2d(x, 3), 64, 7, 2, valid), relu);
  return max_pool2d(zero_padding2d(x, 1), {.pool_size = 3, .strides = Extent(2)});
}

Tensor small_body(const Builder& build, Tensor x) {
  x = build.norm(build.conv(x, 16, 3, 1), relu);
  for (const Stage& s : {Stage{3, 16, 1}, Stage{3, 32, 2}, Stage{3, 64, 2}})
    for (int64_t i = 0; i < s.blocks; ++i) x = build.basic(x, s.filters, i == 0 ? s.stride : 1);
  return x;
}

Tensor large_body(const Builder& build, Tensor x, bool bottlenecks, std::initializer_list<int64_t> blocks) {
  x = large_stem(build, x);
  int64_t filters = 64, stride = 1;
  for (int64_t n : blocks) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t s = i == 0 ? stride : 1;
      x = bottlenecks ? build.bottleneck(x, filters, s) : build.basic(x, filters, s);
    }
    filters *= 2;
    stride = 2;
  }
  return x;
}

}  // namespace

EstimatorSpec resnet(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  const std::string depth = params.get<std::string>("depth");
  Tensor x = image_of(features, params);
  if (depth == "20")
    x = small_body(Builder(params, false, 1e-3, 0.99), x);
  else if (depth == "18")
    x = large_body(Builder(params, false, 1e-5, 0.9), x, false, {2, 2, 2, 2});
  else
    x = large_body(Builder(params, true, 1.001e-5, 0.99), x, true, {3, 4, 6, 3});
  const Tensor logits = dense(global_average_pool2d(x), {.units = params.get<int64_t>("num_classes")});
  return classify(logits, labels, mode, make_optimizer(params));
}

}  // namespace tenon::models
