#include "tenon/model.h"

#include <gtest/gtest.h>

#include "tenon/layer_classes.h"
#include "tenon/strategy.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

Function function_of(const Strategy& strategy, Layer& model) {
  return strategy.function([&model](const Features& in) {
    Tensors xs;
    for (const auto& [name, x] : in.all()) xs.push_back(x);
    Outputs out;
    for (const Tensor& y : model.all(xs)) out.add("y" + std::to_string(out.all().size()), y);
    return out;
  });
}

TEST(Model, JoinsTwoInputsAndGivesTwoOutputs) {
  const Symbol a = Input({2}), b = Input({3});
  const Symbol both = Concatenate()(std::vector<Symbol>{a, b});
  Model model({a, b}, {Dense({.units = 1, .kernel_initializer = ones()})(both), both});
  Strategy strategy("cpu");
  Function f = function_of(strategy, model);
  const Results r = f({{"a", Array({1.0f, 2.0f}, {1, 2})}, {"b", Array({3.0f, 4.0f, 5.0f}, {1, 3})}});
  EXPECT_EQ(r["y0"].item(), 15);
  EXPECT_EQ(r["y1"].to<float>(), (std::vector<float>{1, 2, 3, 4, 5}));
  EXPECT_EQ(names(strategy), (Names{"dense/bias", "dense/kernel"}));
}

TEST(Model, ALayerOnTwoWaysSharesItsWeights) {
  const Symbol a = Input({2}), b = Input({2});
  const Dense tower({.units = 1, .kernel_initializer = ones()});
  Model siamese({a, b}, {tower(a) - tower(b)});
  Strategy strategy("cpu");
  const Results r =
      function_of(strategy, siamese)({{"a", Array({5.0f, 2.0f}, {1, 2})}, {"b", Array({3.0f, 1.0f}, {1, 2})}});
  EXPECT_EQ(r["y0"].item(), 3);
  EXPECT_EQ(names(strategy), (Names{"dense/bias", "dense/kernel"}));
}

TEST(Model, NamesLayersInTheOrderInWhichTheyWerePutTogether) {
  const Symbol x = Input({2});
  const Symbol first = Dense({.units = 2})(x), second = Dense({.units = 3})(x);
  Model model({x}, {second, first});
  Strategy strategy("cpu");
  function_of(strategy, model)({{"x", Array({1.0f, 1.0f}, {1, 2})}});
  EXPECT_EQ(strategy.read("dense/kernel").shape(), (Shape{2, 2}));
  EXPECT_EQ(strategy.read("dense_1/kernel").shape(), (Shape{2, 3}));
}

TEST(Model, IsALayerOfAnotherModel) {
  const Symbol x = Input({2});
  const Model inner({x}, {Dense({.units = 2})(x)});
  Sequential outer({inner, inner, Dense({.units = 1})});
  Strategy strategy("cpu");
  function_of(strategy, outer)({{"x", Array({1.0f, 1.0f}, {1, 2})}});
  EXPECT_EQ(names(strategy), (Names{"dense/bias", "dense/kernel", "model/dense/bias", "model/dense/kernel"}));
}

TEST(Model, SaysWhatIsWrong) {
  const Symbol a = Input({2}, DType::kF32, "a"), b = Input({2}, DType::kF32, "b");
  EXPECT_EQ(message_of([&] { Model({a}, {Dense({.units = 1})(a + b)}); }),
            "layer 'add' is called on the Input() 'b' f32[2], which is none of the model's 1 inputs");
  EXPECT_EQ(message_of([&] {
              Model({a}, {Concatenate(-1, "both")({a, Input({3})})});
            }),
            "layer 'both' is called on the Input() f32[3], which is none of the model's 1 inputs");
  EXPECT_EQ(message_of([&] { Model({a}, {b}); }),
            "an output of the model is the Input() 'b' f32[2], which is none of the model's 1 inputs");
  EXPECT_EQ(message_of([&] { Model({a + b}, {a}); }), "a model's input is what a layer gives, expected Input()");
  Strategy strategy("cpu");
  Model model({a}, {Dense({.units = 1})(a)});
  EXPECT_EQ(message_of([&] {
              function_of(strategy, model)({{"x", Array({1.0f, 1.0f, 1.0f}, {1, 3})}});
            }),
            "model 'model': input 0 is f32[1,3], expected a batch of f32[2]");
  Sequential empty;
  EXPECT_EQ(message_of([&] {
              function_of(strategy, empty)({{"x", Array({1.0f}, {1, 1})}});
            }),
            "model 'sequential' has no layers");
}

}  // namespace
}  // namespace tenon
