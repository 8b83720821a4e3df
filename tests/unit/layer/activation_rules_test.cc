// Activations as a user writes them, beside the functions of <cmath> that have their names.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/layers.h"
#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"

using namespace tenon;
using model_testing::error_of;
using model_testing::feed;
using model_testing::Numbers;
using model_testing::Session;

namespace {

Initializer identity_of_two(const Shape&) { return values_initializer({1, 0, 0, 1}); }
Tensor doubled(Tensor x) { return x * 2.0; }

const Numbers kTwo{-1, 2};
const double kShare = 1 / (1 + std::exp(3.0));  // of -1 beside 2

// What a dense layer of weights 1 0 0 1 makes of -1 and 2.
Numbers dense_with(const ActivationRule& activation) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 2});
  const Tensor y = dense(x, {.units = 2, .activation = activation, .kernel_initializer = &identity_of_two});
  return Session(graph, {y}).run({{"x", kTwo}})[0];
}

TEST(ActivationRules, AreFunctionsOfTensors) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 2});
  Session session(graph, {relu(x), tanh(x), sigmoid(x), relu(x, {.max_value = 1.5}), leaky_relu(x), leaky_relu(x, 0.5),
                          elu(x, 2), linear(x), softmax(x)});
  const auto y = session.run({{"x", kTwo}});
  golden::expect_near(y[0], {0, 2}, 0);
  golden::expect_near(y[1], {std::tanh(-1.0), std::tanh(2.0)}, 1e-6);
  golden::expect_near(y[2], {1 / (1 + std::exp(1.0)), 1 / (1 + std::exp(-2.0))}, 1e-6);
  golden::expect_near(y[3], {0, 1.5}, 0);
  golden::expect_near(y[4], {-0.2, 2}, 1e-6);
  golden::expect_near(y[5], {-0.5, 2}, 0);
  golden::expect_near(y[6], {2 * (std::exp(-1.0) - 1), 2}, 1e-6);
  golden::expect_near(y[7], kTwo, 0);
  golden::expect_near(y[8], {kShare, 1 - kShare}, 1e-6);
}

TEST(ActivationRules, AreOptionsOfLayersByObjectFunctionNameOrCode) {
  const Numbers by_tanh{std::tanh(-1.0), std::tanh(2.0)}, shares{kShare, 1 - kShare};
  golden::expect_near(dense_with({}), kTwo, 0);
  golden::expect_near(dense_with(relu), {0, 2}, 0);
  golden::expect_near(dense_with("relu"), {0, 2}, 0);
  golden::expect_near(dense_with(leaky_relu), {-0.2, 2}, 1e-6);
  golden::expect_near(dense_with(tanh), by_tanh, 1e-6);
  golden::expect_near(dense_with("tanh"), by_tanh, 1e-6);
  golden::expect_near(dense_with(softmax), shares, 1e-6);
  golden::expect_near(dense_with("softmax"), shares, 1e-6);
  golden::expect_near(dense_with(log_softmax), {std::log(kShare), std::log(1 - kShare)}, 1e-6);
  golden::expect_near(dense_with(doubled), {-2, 4}, 0);
  golden::expect_near(dense_with([](Tensor x) { return relu(x) + 1.0; }), {1, 3}, 0);
}

TEST(ActivationRules, ReadAlikeInTheOptionsOfEachLayer) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 1, 1, 2});
  const auto one = [](const Shape& shape) { return values_initializer(std::vector<float>(shape.elements(), 1)); };
  const InitializerRule ones_of_shape(+one);
  const auto plus_one = [](Tensor t) { return t + 1.0; };
  Session session(graph,
                  {conv2d(x, {.filters = 1, .activation = tanh, .kernel_initializer = ones_of_shape}),
                   conv2d(x, {.filters = 1, .activation = plus_one, .kernel_initializer = ones_of_shape}),
                   depthwise_conv2d(x, {.activation = plus_one, .kernel_initializer = ones_of_shape}),
                   conv2d_transpose(x, {.filters = 1, .activation = plus_one, .kernel_initializer = ones_of_shape}),
                   batch_normalization(x, {.epsilon = 0, .scale = false, .activation = plus_one, .trainable = false})});
  const auto y = session.run({{"x", kTwo}});
  golden::expect_near(y[0], {std::tanh(1.0)}, 1e-6);
  golden::expect_near(y[1], {2}, 0);
  golden::expect_near(y[2], {0, 3}, 0);
  golden::expect_near(y[3], {2}, 0);
  golden::expect_near(y[4], {0, 3}, 0);
}

// What ops fuse costs no op of its own.
TEST(ActivationRules, AreFusedWhereOpsCan) {
  const auto nodes_with = [](const ActivationRule& activation) {
    Graph graph;
    dense(feed(graph, "x", {1, 2}), {.units = 2, .activation = activation});
    return graph.nodes.size();
  };
  const size_t bare = nodes_with(linear);
  EXPECT_EQ(nodes_with(gelu), bare);
  EXPECT_EQ(nodes_with(tanh), bare);
  EXPECT_EQ(nodes_with("silu"), bare);
  EXPECT_GT(nodes_with(doubled), bare);
}

TEST(ActivationRules, NameTheNearestWhenUnknown) {
  EXPECT_EQ(error_of([] { dense_with("tahn"); }), "no activation of name 'tahn'; did you mean 'tanh'?");
}

TEST(ActivationRules, RefuseSlopesThatAreNone) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 2});
  EXPECT_EQ(error_of([&] { relu(x, {.max_value = -1}); }), "re_lu 're_lu': max_value is -1, expected 0 or more");
  EXPECT_EQ(error_of([&] { leaky_relu(x, -0.5); }),
            "leaky_re_lu 'leaky_re_lu': negative_slope is -0.5, expected 0 or more");
  EXPECT_EQ(error_of([&] { elu(x, -1); }), "elu 'elu': alpha is -1, expected 0 or more");
}

}  // namespace
