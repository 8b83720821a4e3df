// Layers that a Sequential gets after it was compiled, evaluated or trained.
#include <gtest/gtest.h>

#include "unit/model/fit_testing.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

using namespace model_testing;

const std::vector<float> kTargets = {3, 1, -1, 2};
Array four_rows() { return Array(pattern(16, 7, 11, 5, 4), {4, 4}); }
Array four_targets() { return Array(kTargets, {4, 1}); }

Sequential trained(bool with_input, const Optimizer& optimizer) {
  Sequential model;
  if (with_input) model.add(Input({4}));
  model.add(Dense(1));
  model.compile({.optimizer = optimizer, .loss = "mse", .strategy = Strategy("cpu")});
  model.fit(four_rows(), four_targets(), epochs(1));
  model.evaluate(four_rows(), four_targets(), {.verbose = Verbose::kSilent});
  model.predict(four_rows());
  model.train_on_batch(four_rows(), four_targets());
  return model;
}

AnyLayer gives_one() {
  return Dense({.units = 1, .kernel_initializer = zeros(), .bias_initializer = ones(), .name = "one"});
}

// The mean square of the targets' distance from 1 is (4 + 0 + 4 + 1) / 4, and its gradient by the bias
// 2 * (-2 + 0 + 2 - 1) / 4.
TEST(AddedLayers, AreInTheNextCallOfEachFunction) {
  for (const bool with_input : {false, true}) {
    Sequential model = trained(with_input, SGD(0.1));
    model.add(gives_one());
    EXPECT_EQ(model.predict(four_rows())[0].to<float>(), std::vector<float>(4, 1.0f));
    EXPECT_EQ(model.predict_on_batch(four_rows())[0].to<float>(), std::vector<float>(4, 1.0f));
    EXPECT_NEAR(model.evaluate(four_rows(), four_targets(), {.verbose = Verbose::kSilent})["loss"], 2.25, kTolerance);
    EXPECT_NEAR(model.test_on_batch(four_rows(), four_targets())["loss"], 2.25, kTolerance);
    EXPECT_NEAR(model.fit(four_rows(), four_targets(), epochs(1))["loss"][0], 2.25, kTolerance);
    EXPECT_NEAR(model.strategy().read<float>("one/bias")[0], 1.05, kTolerance);
    EXPECT_EQ(model.weights(), (std::vector<std::string>{"dense/kernel", "dense/bias", "one/kernel", "one/bias"}));
  }
}

TEST(AddedLayers, AreInTheNextTrainOnBatch) {
  Sequential model = trained(false, SGD(0.1));
  model.add(gives_one());
  EXPECT_NEAR(model.train_on_batch(four_rows(), four_targets())["loss"], 2.25, kTolerance);
  EXPECT_NEAR(model.strategy().read<float>("one/bias")[0], 1.05, kTolerance);
}

TEST(AddedLayers, LeaveWhatTheOptimizerKept) {
  Sequential model({Dense({.units = 1, .use_bias = false, .kernel_initializer = zeros()})});
  model.compile({.optimizer = Adam({.learning_rate = 0}), .loss = "mse", .strategy = Strategy("cpu")});
  model.fit(four_rows(), four_targets(), epochs(2));
  const auto kept = model.strategy().read<float>("dense/kernel/Adam");
  model.add(gives_one());
  model.evaluate(four_rows(), four_targets(), {.verbose = Verbose::kSilent});
  EXPECT_EQ(model.strategy().read<float>("dense/kernel/Adam"), kept);
  model.fit(four_rows(), four_targets(), epochs(1));
  EXPECT_EQ(model.strategy().read("global_step").item(), 3);
}

// A model and its copies are one, and so is what another model has of it.
TEST(AddedLayers, AreInAllCopies) {
  for (const bool with_input : {false, true}) {
    Sequential model = trained(with_input, SGD(0.1)), copy = model;
    copy.add(gives_one());
    EXPECT_EQ(model.predict(four_rows())[0].to<float>(), std::vector<float>(4, 1.0f));
    EXPECT_EQ(model.layers().size(), copy.layers().size());
  }
  Sequential empty, other = empty;
  other.add(Input({4}));
  other.add(gives_one());
  empty.compile({.strategy = Strategy("cpu")});
  EXPECT_EQ(empty.weights(), (std::vector<std::string>{"one/kernel", "one/bias"}));
}

TEST(AddedLayers, AreInTheModelsAround) {
  Sequential part({Dense(1)});
  const Symbol x = Input({4});
  Model around({x}, {part(x)});
  Sequential outermost({around});
  for (Model* model : {&around, static_cast<Model*>(&outermost)}) {
    model->compile({.loss = "mse", .strategy = Strategy("cpu")});
    model->predict(four_rows());
    model->evaluate(four_rows(), four_targets(), {.verbose = Verbose::kSilent});
  }
  part.add(gives_one());
  for (Model* model : {&around, static_cast<Model*>(&outermost)}) {
    EXPECT_EQ(model->predict(four_rows())[0].to<float>(), std::vector<float>(4, 1.0f));
    EXPECT_NEAR(model->evaluate(four_rows(), four_targets(), {.verbose = Verbose::kSilent})["loss"], 2.25, kTolerance);
  }
  EXPECT_NE(message_of([&] { part.add(outermost); }).find("is added to itself, or to a model that it has in it"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon
