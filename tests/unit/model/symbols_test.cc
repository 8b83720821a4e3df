// Models put together of symbols: what is called on tensors is called on symbols, and layers are found by name and number.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/layer_classes.h"
#include "tenon/recurrent.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

const std::vector<float> kSymbolX = {-1, 0.5f, 2, 3};

// What a model of one input of two numbers gives for kSymbolX.
std::vector<float> given_by(const Symbol& input, const Symbol& output) {
  Model model({input}, {output});
  model.compile({.strategy = Strategy("cpu")});
  return model.predict(Array(kSymbolX, {2, 2}))[0].to<float>();
}

void expect_of(const std::function<Symbol(Symbol)>& f, const std::function<double(double)>& number) {
  const Symbol x = Input({2});
  const std::vector<float> found = given_by(x, f(x));
  ASSERT_EQ(found.size(), kSymbolX.size());
  for (size_t i = 0; i < kSymbolX.size(); ++i) EXPECT_NEAR(found[i], number(kSymbolX[i]), 1e-5) << "of " << kSymbolX[i];
}

TEST(Symbols, TakeTheOperatorsOfTensors) {
  expect_of([](Symbol x) { return x / (x + 4); }, [](double x) { return x / (x + 4); });
  expect_of([](Symbol x) { return -x * 2 - 1; }, [](double x) { return -x * 2 - 1; });
  expect_of([](Symbol x) { return 2 * x + 1 / (3 - x / 8) - (1 + x); },
            [](double x) { return 2 * x + 1 / (3 - x / 8) - (1 + x); });
}

TEST(Symbols, TakeTheFunctionsOfTensors) {
  expect_of([](Symbol x) { return relu(x) + sigmoid(x) * tanh(x); },
            [](double x) { return std::max(x, 0.0) + std::tanh(x) / (1 + std::exp(-x)); });
  expect_of([](Symbol x) { return sqrt(exp(log(square(x) + 1))) - abs(x); },
            [](double x) { return std::sqrt(x * x + 1) - std::abs(x); });
  const Symbol x = Input({2});
  const std::vector<float> shares = given_by(x, softmax(x));
  EXPECT_NEAR(shares[0], 1 / (1 + std::exp(1.5)), 1e-6);
}

struct Halved : LayerOf<Halved> {
  Tensor call(Tensor x) override { return x / 2; }
};

TEST(Symbols, GoThroughLambdasOwnLayersAndModels) {
  expect_of([](Symbol x) { return Lambda([](Tensor t) { return t * t; })(x); }, [](double x) { return x * x; });
  expect_of([](Symbol x) { return Halved()(x); }, [](double x) { return x / 2; });
  expect_of([](Symbol x) { return Sequential({Halved(), Halved()})(x); }, [](double x) { return x / 4; });
  const auto twice = [] {
    const Symbol in = Input({2});
    return Model({in}, {in * 2});
  };
  expect_of([&](Symbol x) { return twice()(x) + x; }, [](double x) { return 3 * x; });
  struct Own : Model {
    Tensor call(Tensor x) override { return x + 1; }
  };
  expect_of([](Symbol x) { return AnyLayer(Own())(x); }, [](double x) { return x + 1; });
  try {
    (void)Own()(Input({2}));
    FAIL() << "a model of one's own would lose its call()";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "model '' of a class of one's own is called on symbols as AnyLayer(model)(x)");
  }
}

// In Keras: [l.name for l in model.layers] is ['a', 'b', 'dense', 'shared', 'concatenate', 'dense_1'] with names and order
// of its summary; count_params() is 9 + 9 + 7.
TEST(Symbols, FindLayersByNameAndNumber) {
  const Symbol a = Input({2}, DType::kF32, "a"), b = Input({2}, DType::kF32, "b");
  const Dense shared({.units = 3, .name = "shared"});
  Model model({a, b}, {Dense(1)(Concatenate()({shared(a), shared(b)}))});
  std::vector<std::string> names;
  EXPECT_EQ(model.count_params(), 9 + 7);
  for (const AnyLayer& layer : model.layers()) names.push_back(layer->name());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "shared", "concatenate", "dense"}));
  EXPECT_TRUE(model.get_layer("shared")->is(shared));
  EXPECT_TRUE(model.get_layer(2)->is(shared));
  EXPECT_EQ(model.get_layer(-1)->name(), "dense");
  EXPECT_FALSE(model.get_layer("dense")->is(shared));
  const auto message = [](const std::function<void()>& f) {
    try {
      f();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(message([&] { (void)model.get_layer("dens"); }),
            "model 'model' has no layer 'dens'; it has a, b, shared, concatenate, dense");
  EXPECT_EQ(message([&] { (void)model.get_layer(5); }), "model 'model' has 5 layers, asked for number 5");
  Sequential row({Flatten(), Dense(3)});
  EXPECT_EQ(
      message([&] { (void)row.get_layer("dense"); }),
      "model '' has no layer 'dense'; layers get their names when the shapes of the inputs are known: begin it with "
      "Input(), or call it first");
  model.get_layer("shared")->set_trainable(false);
  EXPECT_FALSE(shared.trainable());
}

TEST(Symbols, NameTheLayerWhoseShapesDoNotFit) {
  const Symbol a = Input({2}), b = Input({3});
  Model model({a, b}, {a + b});
  try {
    model.summary();
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "layer 'add': add: shapes [batch,2] and [batch,3] do not broadcast");
  }
  try {
    const Model lacking({a}, {Dense(1)(b)});
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "layer 'dense' is called on the Input() f32[3], which is none of the model's 1 inputs");
  }
}

TEST(Symbols, NameTheOptimizer) {
  const auto trained = [](const Optimizer& optimizer) {
    Sequential model({Input({2}), Dense({.units = 1, .kernel_initializer = ones()})});
    model.compile({.optimizer = optimizer, .loss = "mse", .strategy = Strategy("cpu")});
    model.fit(Array(kSymbolX, {2, 2}), Array({1.0f, 2.0f}, {2, 1}), {.verbose = Verbose::kSilent});
    return model.strategy().read<float>("dense/kernel");
  };
  Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = "adam", .loss = "mse", .strategy = Strategy("cpu")});
  EXPECT_EQ(trained("adam"), trained(Adam()));
  EXPECT_EQ(trained("SGD"), trained(SGD()));
  EXPECT_NE(trained("sgd"), trained(Adam()));
  try {
    (void)Optimizer("adm");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "no optimizer of name 'adm'; did you mean 'adam'?");
  }
}

// Keras converts what a model is given to the dtype of its Input().
TEST(Symbols, ConvertDataToTheInputsDtype) {
  const auto sums = [](const Array& x, DType dtype) {
    Sequential model({Input({2}, dtype), Lambda([](Tensor t) { return cast(t, DType::kF32) * 0.5; })});
    model.compile({.strategy = Strategy("cpu")});
    return model.predict(x)[0].to<float>();
  };
  const std::vector<float> expected = {0.5f, 1, 1.5f, 100};
  EXPECT_EQ(sums(Array(std::vector<int32_t>{1, 2, 3, 200}, {2, 2}), DType::kF32), expected);
  EXPECT_EQ(sums(Array(std::vector<uint8_t>{1, 2, 3, 200}, {2, 2}), DType::kF32), expected);
  EXPECT_EQ(sums(Array(std::vector<int64_t>{1, 2, 3, 200}, {2, 2}), DType::kF32), expected);
  EXPECT_EQ(sums(Array(std::vector<double>{1, 2, 3, 200}, {2, 2}), DType::kF32), expected);
  EXPECT_EQ(sums(Array(std::vector<float>{1, 2, 3, 200}, {2, 2}), DType::kI32), expected);
}

// A policy of 16 bits gives the model its features in them, whatever its Input() says.
TEST(Symbols, TakeInputsUnderEveryPolicy) {
  for (const char* policy : {"float32", "mixed_bfloat16", "mixed_float16", "bfloat16"}) {
    Sequential model({Input({2}), Dense({.units = 1, .use_bias = false, .kernel_initializer = ones()})});
    model.compile({.optimizer = SGD(0.0), .loss = "mse", .strategy = Strategy("cpu", {.dtype_policy = policy})});
    model.fit(Array(kSymbolX, {2, 2}), Array({0.0f, 0.0f}, {2, 1}), {.verbose = Verbose::kSilent});
    EXPECT_EQ(model.predict(Array(kSymbolX, {2, 2}))[0].to<float>(), (std::vector<float>{-0.5f, 5})) << policy;
  }
}

// Without AnyLayer C++ would make one of the two.
TEST(TimeDistributed, OfAnotherHasTheNamesOfBoth) {
  Sequential model(
      {Input({4, 5, 3}), TimeDistributed(AnyLayer(TimeDistributed(Dense({.units = 2, .use_bias = false}))))});
  model.compile({.strategy = Strategy("cpu")});
  EXPECT_EQ(model.weights(), std::vector<std::string>{"time_distributed/time_distributed/dense/kernel"});
}

// The mean of embeddings over steps: of a table 0, 2, 4, .. that of the tokens, doubled.
TEST(Symbols, TakeInputsOfAnySize) {
  const Initializer table = values_initializer({0, 2, 4, 6, 8});
  const Symbol words = Input({kAnySize}, DType::kI32, "words");
  const Symbol read = GlobalAveragePooling1D()(
      Embedding({.input_dim = 5, .output_dim = 1, .embeddings_initializer = table})(words));
  Model model({words}, {Dense({.units = 1, .use_bias = false, .kernel_initializer = ones()})(read)});
  model.compile({.optimizer = SGD(0), .loss = "mse", .strategy = Strategy("cpu")});
  EXPECT_TRUE(model.weights().empty());
  EXPECT_EQ(model.predict(Array(std::vector<int32_t>{1, 2, 3, 4}, {2, 2}))[0].to<float>(), (std::vector<float>{3, 7}));
  EXPECT_EQ(model.predict(Array(std::vector<int32_t>{1, 2, 3, 4, 0, 2}, {2, 3}))[0].to<float>(),
            (std::vector<float>{4, 4}));
  EXPECT_EQ(model.train_on_batch(Array(std::vector<int32_t>{4}, {1, 1}), Array({6.0f}, {1, 1})).at("loss"), 4);
  EXPECT_EQ(model.weights(), (std::vector<std::string>{"embedding/embeddings", "dense/kernel"}));
  EXPECT_EQ(message_of([&] { model.predict(Array(std::vector<int32_t>{1}, {1})); }).find("input 0 is i32[1], expected a "
                                                                                        "batch of i32[?]") !=
                std::string::npos,
            true);
}

}  // namespace
}  // namespace tenon
