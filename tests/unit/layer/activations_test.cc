// Activations against tests/golden/activations.csv, values and slopes, alone and inside layers.
#include <gtest/gtest.h>

#include <functional>

#include "base/strings.h"
#include "op/op.h"
#include "tenon/gradients.h"
#include "tenon/layers.h"
#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using golden::Numbers;
using model_testing::error_of;
using model_testing::feed;
using model_testing::Session;

const Numbers kPoints{-10, -3, -1, -0.6, -0.4, 0, 0.4, 0.6, 1, 3, 10};

using BuildActivation = std::function<Tensor(Tensor)>;

// The activation of a row; nothing for Keras 2's hard_sigmoid, which is another one.
BuildActivation activation_of(const std::string& name, const std::string& arguments) {
  if (arguments == "negative_slope=0.1, max_value=2.0, threshold=0.5")
    return [](Tensor x) { return relu(x, {.max_value = 2, .negative_slope = 0.1, .threshold = 0.5}); };
  if (arguments == "approximate=True") return [](Tensor x) { return gelu_tanh(x); };
  if (arguments == "alpha=2.0" && name == "celu") return [](Tensor x) { return celu(x, 2); };
  if (arguments == "Keras 2") return {};
  return [name](Tensor x) { return activate(x, name); };
}

Numbers expected_of(const golden::Row& row) {
  Numbers out;
  for (const char* x : {"-10", "-3", "-1", "-0.6", "-0.4", "0", "0.4", "0.6", "1", "3", "10"}) {
    const std::string& cell = row.at(cat("x=", x));
    if (!cell.empty()) out.push_back(std::stod(cell));
  }
  return out;
}

TEST(Activations, GiveKerasNumbersAndSlopes) {
  int seen = 0;
  for (const golden::Row& row : golden::rows("activations.csv")) {
    const BuildActivation activation = activation_of(row.at("activation"), row.at("arguments"));
    if (!activation) continue;
    SCOPED_TRACE(row.at("activation") + " " + row.at("arguments") + " " + row.at("kind"));
    Numbers expected = expected_of(row);
    Graph graph;
    const bool own = row.at("arguments").rfind("x=", 0) == 0;
    const Numbers points = own ? Numbers{1, 2, 0.5, -1} : kPoints;
    const Tensor x = feed(graph, "x", {1, static_cast<int64_t>(points.size())});
    Tensor y = activation(x);
    if (row.at("kind") == "gradient") y = gradients(reduce_sum(y), {x})[0];
    if (row.at("activation") == "celu" && row.at("kind") == "gradient") expected[5] = 1;  // Keras adds both sides' at 0
    Session session(graph, {y});
    golden::expect_near(session.run({{"x", points}})[0], expected, 1e-6);
    ++seen;
  }
  EXPECT_EQ(seen, 58);
}

// x as it comes out of layers whose weights are the identity.
struct Fused {
  const char* name;
  Tensor (*layer)(Tensor x, const ActivationRule& act);
};

Initializer one(const Shape& shape) { return values_initializer(std::vector<float>(shape.elements(), 1)); }

const Fused kFused[] = {
    {"dense",
     [](Tensor x, const ActivationRule& a) {
       return dense(x, {.units = 1, .activation = a, .kernel_initializer = &one});
     }},
    {"conv2d",
     [](Tensor x, const ActivationRule& a) {
       return conv2d(reshape(x, {11, 1, 1, 1}), {.filters = 1, .activation = a, .kernel_initializer = &one});
     }},
    {"conv2d_transpose",
     [](Tensor x, const ActivationRule& a) {
       return conv2d_transpose(reshape(x, {11, 1, 1, 1}), {.filters = 1, .activation = a, .kernel_initializer = &one});
     }},
    {"batch_normalization",
     [](Tensor x, const ActivationRule& a) { return batch_normalization(x, {.epsilon = 0, .activation = a}); }},
};

TEST(Activations, AreTheSameInsideLayers) {
  for (const golden::Row& row : golden::rows("activations.csv")) {
    if (!row.at("arguments").empty()) continue;
    const std::string name = row.at("activation");
    for (const Fused& fused : kFused) {
      SCOPED_TRACE(cat(fused.name, " ", name, " ", row.at("kind")));
      Graph graph;
      graph.mode = Mode::kPredict;
      const Tensor x = feed(graph, "x", {11, 1});
      Tensor y = fused.layer(x, name);
      if (row.at("kind") == "gradient") y = gradients(reduce_sum(y), {x})[0];
      golden::expect_near(Session(graph, {y}).run({{"x", kPoints}})[0], expected_of(row), 1e-6);
    }
  }
}

TEST(Activations, LayersHaveTheirOwnSlopes) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 2});
  const Tensor learned = prelu(x, {.alpha_initializer = constant_initializer(0.25)});
  const Tensor alpha(&graph, graph.variable_value(0));
  Session session(graph, {leaky_relu(x, 0.3), relu(x), learned, gradients(reduce_sum(learned), {alpha})[0]});
  const auto y = session.run({{"x", {-2, 3}}});
  golden::expect_near(y[0], {-0.6, 3}, 1e-6);
  golden::expect_near(y[1], {0, 3}, 0);
  golden::expect_near(y[2], {-0.5, 3}, 0);
  golden::expect_near(y[3], {-2, 0}, 0);
}

TEST(Activations, TakeTheirNumbers) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 4});
  Session session(graph, {hard_shrink(x, 1), soft_shrink(x, 1), squareplus(x, 0), threshold(x, 1, -7), glu(x, 1)});
  const auto y = session.run({{"x", {-2, 1, 0, 3}}});
  golden::expect_near(y[0], {-2, 0, 0, 3}, 0);
  golden::expect_near(y[1], {-1, 0, 0, 2}, 0);
  golden::expect_near(y[2], {0, 1, 0, 3}, 0);
  golden::expect_near(y[3], {-7, -7, -7, 3}, 0);
  golden::expect_near(y[4], {-1, 1 / (1 + std::exp(-3.0))}, 1e-6);
}

// The nearest point of the simplex, by hand: over two places of 0.25 and -0.25 it is 0.75 and 0.25.
TEST(Activations, SparsemaxIsAlongAnyAxis) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 2});
  Session session(graph, {sparsemax(x), sparsemax(x, 0)});
  const auto y = session.run({{"x", {0.25, -0.25, 3, -0.25}}});
  golden::expect_near(y[0], {0.75, 0.25, 1, 0}, 1e-6);
  golden::expect_near(y[1], {0, 0.5, 1, 0.5}, 1e-6);
  EXPECT_EQ(error_of([&] { sparsemax(x, 2); }), "sparsemax: axis is 2, expected one of the 2 of f32[2,2]");
  EXPECT_EQ(error_of([&] {
              glu(feed(graph, "z", {1, 3}));
            }),
            "glu: axis -1 of f32[1,3] has 3 places, expected an even number");
}

TEST(Activations, NameTheNearestWhenUnknown) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 2});
  EXPECT_EQ(error_of([&] { activate(x, "sigmoyd"); }), "no activation of name 'sigmoyd'; did you mean 'sigmoid'?");
  EXPECT_EQ(error_of([&] { activate(x, "gelu_tahn"); }),
            "no activation of name 'gelu_tahn'; did you mean 'gelu_tanh'?");
}

}  // namespace
}  // namespace tenon
