#include "unit/layer/keras/keras_layers.h"

#include "tenon/batch_dot.h"
#include "tenon/einsum_dense.h"
#include "tenon/layer_classes.h"
#include "tenon/locally_connected.h"
#include "tenon/preprocessing.h"

namespace tenon::golden {
namespace {

Call one(const std::function<Tensor(Tensor)>& layer) {
  return [=](const Tensors& xs) { return Tensors{layer(xs[0])}; };
}
Call several(const std::function<Tensor(const Tensors&)>& layer) {
  return [=](const Tensors& xs) { return Tensors{layer(xs)}; };
}
Call einsum(const EinsumDenseOptions& o) {
  return one([=](Tensor x) { return einsum_dense(x, o); });
}

void add_core(std::map<std::string, Call>& m) {
  m["Dense(3, activation='tanh')"] =
      one([](Tensor x) { return dense(x, {.units = 3, .activation = Activation::kTanh}); });
  m["Dense(3, use_bias=False)"] = one([](Tensor x) { return dense(x, {.units = 3, .use_bias = false}); });
  m["Embedding(5, 3)"] = one([](Tensor x) { return embedding(x, {.input_dim = 5, .output_dim = 3}); });
  m["EinsumDense('abc,cd->abd', output_shape=(None, 3), bias_axes='d')"] =
      einsum({.equation = "abc,cd->abd", .output_shape = {-1, 3}, .bias_axes = "d"});
  m["EinsumDense('abc,cde->abde', output_shape=(None, 2, 3), bias_axes='e', activation='tanh')"] = einsum(
      {.equation = "abc,cde->abde", .output_shape = {-1, 2, 3}, .activation = Activation::kTanh, .bias_axes = "e"});
  m["EinsumDense('abc,bcd->abd', output_shape=(4, 2), bias_axes='bd')"] =
      einsum({.equation = "abc,bcd->abd", .output_shape = {4, 2}, .bias_axes = "bd"});
  m["EinsumDense('...x,xy->...y', output_shape=2, bias_axes='y')"] =
      einsum({.equation = "...x,xy->...y", .output_shape = {2}, .bias_axes = "y"});
  m["EinsumDense('ab...,bc->ac...', output_shape=2, bias_axes='c')"] =
      einsum({.equation = "ab...,bc->ac...", .output_shape = {2}, .bias_axes = "c"});
  m["EinsumDense('abc,bc->a', output_shape=())"] = einsum({.equation = "abc,bc->a"});
}

void add_locally_connected(std::map<std::string, Call>& m) {
  m["LocallyConnected1D(2, 3, strides=2, activation='tanh')"] = one([](Tensor x) {
    return LocallyConnected1D({.filters = 2, .kernel = 3, .strides = 2, .activation = Activation::kTanh})(x);
  });
  m["LocallyConnected1D(2, 2, use_bias=False)"] =
      one([](Tensor x) { return LocallyConnected1D({.filters = 2, .kernel = 2, .use_bias = false})(x); });
  m["LocallyConnected2D(2, (2, 3), strides=(1, 2))"] =
      one([](Tensor x) { return LocallyConnected2D({.filters = 2, .kernel = {2, 3}, .strides = {1, 2}})(x); });
}

void add_norms(std::map<std::string, Call>& m) {
  m["BatchNormalization()"] = one([](Tensor x) { return BatchNormalization()(x); });
  m["LayerNormalization()"] = one([](Tensor x) { return layer_normalization(x); });
  m["GroupNormalization(groups=2)"] = one([](Tensor x) { return group_normalization(x, {.groups = 2}); });
  m["RMSNormalization()"] = one([](Tensor x) { return rms_normalization(x); });
  m["UnitNormalization()"] = one([](Tensor x) { return unit_normalization(x); });
  m["Rescaling(0.5, offset=-1.0)"] = one([](Tensor x) { return rescaling(x, 0.5, -1); });
  m["Normalization(mean=[1.0, -2.0, 0.5], variance=[4.0, 0.25, 0.0])"] = one([](Tensor x) {
    return normalization(x, {.mean = {1, -2, 0.5}, .variance = {4, 0.25, 0}});
  });
  m["Normalization(axis=None, mean=2.0, variance=4.0, invert=True)"] =
      one([](Tensor x) { return normalization(x, {.axis = {}, .mean = {2}, .variance = {4}, .invert = true}); });
  m["Normalization(axis=1, mean=[1.0, 2.0, 3.0, 4.0], variance=[4.0, 1.0, 9.0, 0.25])"] = one([](Tensor x) {
    return normalization(x, {.axis = {1}, .mean = {1, 2, 3, 4}, .variance = {4, 1, 9, 0.25}});
  });
}

void add_activations(std::map<std::string, Call>& m) {
  m["PReLU(shared_axes=[1])"] = one([](Tensor x) { return prelu(x, {.shared_axes = {1}}); });
  m["LeakyReLU(0.1)"] = one([](Tensor x) { return leaky_relu(x, 0.1); });
  m["ThresholdedReLU(0.4)"] = one([](Tensor x) { return ThresholdedReLU(0.4)(x); });
  m["ELU(0.5)"] = one([](Tensor x) { return elu(x, 0.5); });
  m["ReLU(max_value=0.8, negative_slope=0.25, threshold=0.2)"] =
      one([](Tensor x) { return ReLU({.max_value = 0.8, .negative_slope = 0.25, .threshold = 0.2})(x); });
  m["Flatten()"] = one([](Tensor x) { return Flatten()(x); });
  m["Reshape((6, 2))"] = one([](Tensor x) { return Reshape(6, 2)(x); });
  m["Softmax()"] = one([](Tensor x) { return Softmax()(x); });
}

void add_merging(std::map<std::string, Call>& m) {
  const auto dotted = [](const BatchDotOptions& o) { return several([=](const Tensors& xs) { return Dot(o)(xs); }); };
  m["Add()"] = several([](const Tensors& xs) { return Add()(xs); });
  m["Subtract()"] = several([](const Tensors& xs) { return Subtract()(xs); });
  m["Multiply()"] = several([](const Tensors& xs) { return Multiply()(xs); });
  m["Average()"] = several([](const Tensors& xs) { return Average()(xs); });
  m["Maximum()"] = several([](const Tensors& xs) { return Maximum()(xs); });
  m["Minimum()"] = several([](const Tensors& xs) { return Minimum()(xs); });
  m["Concatenate(axis=1)"] = several([](const Tensors& xs) { return Concatenate(1)(xs); });
  m["Dot(axes=1)"] = dotted({.axes = {1}});
  m["Dot(axes=(2, 1), normalize=True)"] = dotted({.axes = {2, 1}, .normalize = true});
  m["Dot(axes=(1, 2))"] = dotted({.axes = {1, 2}});
  m["Dot(axes=-1, normalize=True)"] = dotted({.axes = {-1}, .normalize = true});
}

}  // namespace

const std::map<std::string, Call>& keras_layers() {
  static const std::map<std::string, Call> all = [] {
    std::map<std::string, Call> m;
    add_core(m);
    add_locally_connected(m);
    add_norms(m);
    add_activations(m);
    add_merging(m);
    add_keras_attention(m);
    add_keras_time_layers(m);
    add_keras_image_layers(m);
    return m;
  }();
  return all;
}

}  // namespace tenon::golden
