// Layers as objects against Keras: the rows of tests/golden that functions are held to, and merging by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/layer_classes.h"
#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using model_testing::error_of;
using model_testing::feed;
using model_testing::golden_bias;
using model_testing::golden_input;
using model_testing::golden_kernel;
using model_testing::Numbers;
using model_testing::Session;

struct GoldenObject {
  std::string row, name;  // of the layer
  AnyLayer layer;
};

ConvLayerOptions conv_of(int64_t filters) {
  return {.filters = filters, .kernel = 3, .kernel_initializer = &golden_kernel, .bias_initializer = &golden_bias};
}

// Made anew for each test, as objects keep their names.
std::vector<GoldenObject> golden_objects() {
  const MultiHeadAttentionOptions attention{
      .num_heads = 2, .key_dim = 2, .kernel_initializer = &golden_kernel, .bias_initializer = &golden_bias};
  return {{"DepthwiseConv2D(3)", "depthwise_conv2d", DepthwiseConv2D(conv_of(0))},
          {"SeparableConv2D(2, 3)", "separable_conv2d", SeparableConv2D(conv_of(2))},
          {"Dropout(0.5)", "dropout", Dropout(0.5)},
          {"SpatialDropout2D(0.5)", "spatial_dropout2d", SpatialDropout2D(0.5)},
          {"Reshape((6, -1))", "reshape", Reshape({6, -1})},
          {"Reshape((6, -1))", "reshape", Reshape({.target_shape = {6, -1}})},
          {"Permute((2, 1))", "permute", Permute({2, 1})},
          {"Permute((2, 1))", "permute", Permute({.dims = {2, 1}})},
          {"Permute((2, 1))", "swapped", Permute({.dims = {2, 1}, .name = "swapped"})},
          {"MultiHeadAttention(2, 2)", "multi_head_attention", MultiHeadAttention(attention)},
          {"MaxPooling1D(3)", "max_pooling1d", MaxPooling1D({.pool_size = 3})},
          {"GlobalAveragePooling2D()", "global_average_pooling2d", GlobalAveragePooling2D()},
          {"GlobalAveragePooling2D(keepdims=True)", "global_average_pooling2d", GlobalAveragePooling2D(true)},
          {"GlobalMaxPooling2D()", "global_max_pooling2d", GlobalMaxPooling2D()},
          {"GlobalMaxPooling1D()", "global_max_pooling1d", GlobalMaxPooling1D()},
          {"BatchNormalization()", "batch_normalization", BatchNormalization()},
          {"GroupNormalization(groups=2)", "group_normalization", GroupNormalization({.groups = 2})},
          {"RMSNormalization()", "rms_normalization", RMSNormalization()},
          {"UnitNormalization()", "unit_normalization", UnitNormalization()},
          {"Activation('relu')", "activation", ActivationLayer("relu")},
          {"PReLU(shared_axes=[1, 2])", "p_re_lu", PReLU({.shared_axes = {1, 2}})},
          {"ZeroPadding2D((1, 2))", "zero_padding2d", ZeroPadding2D({1, 2})},
          {"Cropping2D(((1, 2), (0, 3)))", "cropping2d", Cropping2D({1, 2, 0, 3})},
          {"UpSampling2D(2)", "up_sampling2d", UpSampling2D(2)},
          {"Rescaling(0.5, offset=-1.0)", "rescaling", Rescaling(0.5, -1)}};
}

Tensor called_on(const AnyLayer& layer, Tensor x) {
  return dynamic_cast<MultiHeadAttention*>(&*layer) ? (*layer)(Tensors{x, x}) : (*layer)(x);
}

std::string weights_of(const Graph& graph, const std::string& layer) {
  std::string out;
  for (const Variable& v : graph.variables) {
    if (v.kind != VariableKind::kWeight) continue;
    EXPECT_TRUE(v.name.starts_with(layer + "/")) << v.name;
    std::string shape;
    for (const int64_t d : graph.type(graph.inputs[static_cast<size_t>(v.input)].value).shape)
      shape += (shape.empty() ? "" : ",") + std::to_string(d);
    out += (out.empty() ? "" : " ") + v.name.substr(v.name.rfind('/') + 1) + "(" + shape + ")";
  }
  return out;
}

TEST(LayerClasses, HaveKerasNamesShapesAndWeights) {
  int seen = 0;
  for (const GoldenObject& object : golden_objects())
    for (const golden::Row& row : golden::rows("layers.csv")) {
      if (row.at("layer") != object.row) continue;
      SCOPED_TRACE(object.row);
      Graph graph;
      const Tensor y = called_on(object.layer, feed(graph, "x", Shape(golden::integers(row.at("input")))));
      EXPECT_EQ(y.shape().vec(), golden::integers(row.at("output")));
      EXPECT_EQ(object.layer->name(), object.name);
      EXPECT_EQ(weights_of(graph, object.name), row.at("weights"));
      ++seen;
    }
  EXPECT_EQ(seen, 20);
}

TEST(LayerClasses, GiveKerasNumbers) {
  int seen = 0;
  for (const GoldenObject& object : golden_objects())
    for (const golden::Row& row : golden::rows("layer_values.csv")) {
      if (row.at("case") != object.row) continue;
      SCOPED_TRACE(object.row);
      Graph graph;
      const Tensor x = feed(graph, "x", Shape(golden::integers(row.at("input"))));
      Session session(graph, {called_on(object.layer, x)});
      golden::expect_near(session.run({{"x", golden_input(x.elements())}})[0], golden::numbers(row.at("values")), 1e-6);
      ++seen;
    }
  EXPECT_EQ(seen, 9);
}

Numbers merged(Layer& layer) {
  Graph graph;
  const Tensor a = feed(graph, "a", {2, 2}), b = feed(graph, "b", {1, 2});
  return Session(graph, {layer(Tensors{a, b})}).run({{"a", {1, 2, 3, 4}}, {"b", {2, 3}}})[0];
}

TEST(LayerClasses, MergeByNumpysRule) {
  Add sum;
  Subtract difference;
  Multiply product;
  Average mean;
  Maximum most;
  Minimum least;
  EXPECT_EQ(merged(sum), (Numbers{3, 5, 5, 7}));
  EXPECT_EQ(merged(difference), (Numbers{-1, -1, 1, 1}));
  EXPECT_EQ(merged(product), (Numbers{2, 6, 6, 12}));
  EXPECT_EQ(merged(mean), (Numbers{1.5, 2.5, 2.5, 3.5}));
  EXPECT_EQ(merged(most), (Numbers{2, 3, 3, 4}));
  EXPECT_EQ(merged(least), (Numbers{1, 2, 2, 3}));
}

TEST(LayerClasses, OfActivationsHaveKerasDefaults) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 2});
  ReLU capped({.max_value = 1.5});
  LeakyReLU leaky;
  ELU exponential;
  Softmax shares;
  ActivationLayer bent(tanh);
  const auto y = Session(graph, {capped(x), leaky(x), exponential(x), shares(x), bent(x)}).run({{"x", {-1, 2}}});
  const double share = 1 / (1 + std::exp(3.0));
  golden::expect_near(y[0], {0, 1.5}, 0);
  golden::expect_near(y[1], {-0.3, 2}, 1e-6);
  golden::expect_near(y[2], {std::exp(-1.0) - 1, 2}, 1e-6);
  golden::expect_near(y[3], {share, 1 - share}, 1e-6);
  golden::expect_near(y[4], {std::tanh(-1.0), std::tanh(2.0)}, 1e-6);
  EXPECT_EQ(capped.name() + " " + leaky.name() + " " + exponential.name() + " " + shares.name() + " " + bent.name(),
            "re_lu leaky_re_lu elu softmax activation");
}

TEST(LayerClasses, AttentionTakesAKeyAndAMask) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 2, 4}), mask = feed(graph, "mask", {1, 2, 2});
  MultiHeadAttention attend({.num_heads = 2, .key_dim = 2});
  Session session(graph, {attend(Tensors{x, x}), attend(Tensors{x, x, x}), attend(Tensors{x, x, x, mask})});
  const auto y = session.run({{"x", golden_input(8)}, {"mask", {1, 1, 1, 1}}});
  EXPECT_EQ(y[0], y[1]);
  golden::expect_near(y[2], y[0], 1e-6);
  EXPECT_EQ(error_of([&] { attend(x); }),
            "multi_head_attention 'multi_head_attention': is called with 1 tensor, expected {query, value}, a key or "
            "not, a mask or not");
}

TEST(LayerClasses, NamesThatAreAskedForAreKept) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 4, 4, 2});
  MaxPooling2D pool({.name = "pool"});
  ZeroPadding2D frame(1, "frame");
  SpatialDropout2D drop({.rate = 0.5, .name = "drop"});
  drop(frame(pool(x)));
  EXPECT_EQ(pool.name() + " " + frame.name() + " " + drop.name(), "pool frame drop");
}

TEST(LayerClasses, OfMergingSayWhatTheyMiss) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 2});
  Subtract difference;
  EXPECT_EQ(error_of([&] { difference(Tensors{x, x, x}); }), "layer 'subtract': subtract: has 3 inputs, expected 2");
}

}  // namespace
}  // namespace tenon
