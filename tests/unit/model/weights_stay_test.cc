// Where the weights of a model live, as Keras has it: in its layers, however often a model is compiled, whatever model they
// are a part of, and wherever they are sent.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/callbacks.h"
#include "unit/data/temporary_directory.h"
#include "unit/model/model_data_testing.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

using namespace model_testing;

constexpr Verbose kNoLines = Verbose::kSilent;

Array numbers(int64_t columns = 1) { return Array(pattern(kExamples * columns, 3, 7, 3, 4), {kExamples, columns}); }

CompileOptions adam_of(double rate = 0.01) { return {.optimizer = Adam(rate), .loss = "mse"}; }
CompileOptions adam_on(const Strategy& strategy, double rate = 0.01) {
  return {.optimizer = Adam(rate), .loss = "mse", .strategy = strategy};
}

Sequential two_layers() { return Sequential({Dense({.units = 8, .activation = tanh}), Dense(1)}); }

std::vector<float> predictions(Model& model) { return model.predict(first_input())[0].to<float>(); }

void fit_numbers(Model& model, int epochs = 3, int64_t columns = 1) {
  model.fit(first_input(), numbers(columns), {.epochs = epochs, .verbose = kNoLines});
}

TEST(Weights, StayWhenTheModelIsCompiledAgain) {
  Sequential model = two_layers();
  model.compile(adam_of());
  const std::vector<float> fresh = predictions(model);
  fit_numbers(model);
  const std::vector<float> trained = predictions(model);
  ASSERT_NE(trained, fresh);
  model.compile(adam_of(0.001));
  EXPECT_EQ(predictions(model), trained);
}

TEST(Weights, OfAModelThatPredictedFirstStayWhenItIsCompiled) {
  Sequential model = two_layers();
  const std::vector<float> before = predictions(model);
  const Strategy other("cpu", {.seed = 5});  // whose own first values are others
  model.compile(adam_of());
  EXPECT_EQ(predictions(model), before);
  model.compile(adam_on(other));
  EXPECT_EQ(predictions(model), before);
}

TEST(Weights, GoAlongToAnotherStrategyAndBack) {
  const Strategy one("cpu"), other("cpu", {.seed = 3});
  Sequential model = two_layers();
  model.compile(adam_on(one));
  fit_numbers(model);
  const std::vector<float> trained = predictions(model);
  model.compile(adam_on(other));
  EXPECT_EQ(predictions(model), trained);
  fit_numbers(model);
  const std::vector<float> further = predictions(model);
  ASSERT_NE(further, trained);
  model.compile(adam_on(one));
  EXPECT_EQ(predictions(model), further);
  fit_numbers(model, 1);  // a second function there does not bring old values back
  EXPECT_NE(predictions(model), further);
}

TEST(Weights, AreNotLostWhereTheFirstCallElsewhereFails) {
  Sequential model = two_layers();
  model.compile(adam_of());
  fit_numbers(model);
  const std::vector<float> trained = predictions(model);
  model.compile({.optimizer = Adam(), .loss = "categorical_crossentropy", .strategy = Strategy("cpu", {.seed = 3})});
  EXPECT_NE(message_of([&] { fit_numbers(model, 1, 3); }), "no error");
  EXPECT_EQ(predictions(model), trained);
}

TEST(Weights, AreRoundedToThePolicyOfAnotherStrategy) {
  Sequential model({Dense({.units = 1, .use_bias = false, .kernel_initializer = constant_initializer(0.7)})});
  model.compile(adam_of());
  predictions(model);
  model.compile(adam_on(Strategy("cpu", {.dtype_policy = "bfloat16"})));
  predictions(model);
  EXPECT_EQ(model.strategy().read<float>("dense/kernel")[0], 0.69921875f);  // 0.7 with eight bits
}

TEST(Weights, OfAPartAreThoseOfTheModel) {
  for (const bool compiled : {false, true}) {
    const Symbol in = Input({4}), hidden = Dense({.units = 3, .name = "h"})(in), out = Dense(1)(hidden);
    Model full({in}, {out}), features({in}, {hidden});
    full.compile(adam_of());
    fit_numbers(full);
    if (compiled) features.compile(adam_of());
    const std::vector<float> kernel = full.strategy().read<float>("h/kernel"),
                             bias = full.strategy().read<float>("h/bias");
    const std::vector<float> x = first_input().to<float>();
    float expected = bias[0];
    for (size_t i = 0; i < 4; ++i) expected += x[i] * kernel[i * 3];
    EXPECT_NEAR(predictions(features)[0], expected, 1e-6);
    fit_numbers(full);
    EXPECT_NE(full.strategy().read<float>("h/kernel"), kernel);
    EXPECT_NE(std::abs(predictions(features)[0] - expected), 0);  // they share them, they have no copies
  }
}

TEST(Weights, OfATrainedBaseAreThoseOfTheModelAroundIt) {
  Sequential base({Dense(3)}, "base");
  base.compile(adam_of());
  fit_numbers(base, 3, 3);
  const std::vector<float> trained = predictions(base);
  Sequential top({base, ActivationLayer("linear")});
  EXPECT_EQ(predictions(top), trained);
  Sequential elsewhere({base, ActivationLayer("linear")});
  elsewhere.compile(adam_on(Strategy("cpu", {.seed = 8})));
  EXPECT_EQ(predictions(elsewhere), trained);
}

class PretrainedBase : public ::testing::Test {
 protected:
  PretrainedBase() {
    Sequential base({Dense(3)}, "base");
    base.compile(adam_of(0.1));
    fit_numbers(base, 3, 3);
    base.save_weights(path());
    expected_ = predictions(base);
  }
  std::string path() const { return directory_ / "base.safetensors"; }
  Sequential base(bool with_input = false) const {
    return with_input ? Sequential({Input({4}), Dense(3)}, "base") : Sequential({Dense(3)}, "base");
  }
  static Sequential around(const Sequential& base) { return Sequential({base, ActivationLayer("linear")}); }

  TemporaryDirectory directory_;
  std::vector<float> expected_;
};

TEST_F(PretrainedBase, IsLoadedBeforeOrAfterItIsCompiled) {
  Sequential before = base(), after = base();
  before.load_weights(path());
  before.compile(adam_of());
  EXPECT_EQ(predictions(before), expected_);
  Sequential sent = base();
  sent.load_weights(path());
  sent.compile(adam_on(Strategy("cpu", {.seed = 3})));
  EXPECT_EQ(predictions(sent), expected_);
}

TEST_F(PretrainedBase, IsAPartOfAModel) {
  for (const bool with_input : {false, true}) {
    for (const int way : {0, 1, 2}) {
      Sequential loaded = base(with_input);
      loaded.load_weights(path());
      Sequential top = around(loaded);
      if (way == 1) top.compile(adam_of());
      if (way == 2) top.compile(adam_on(Strategy("cpu", {.seed = 3})));
      EXPECT_EQ(predictions(top), expected_) << way << with_input;
      EXPECT_EQ(predictions(loaded), expected_) << way << with_input;
    }
  }
}

TEST_F(PretrainedBase, IsAPartOfAModelOfItsScope) {
  for (const int way : {0, 1, 2}) {
    const Strategy strategy("cpu", {.seed = 3});
    const auto scope = strategy.scope();
    Sequential loaded = base(way == 2);
    loaded.load_weights(path());
    if (way == 1) predictions(loaded);
    Sequential top = around(loaded);
    top.compile(adam_of());
    EXPECT_EQ(predictions(top), expected_) << way;
    EXPECT_TRUE(strategy.waiting().empty());
  }
}

TEST_F(PretrainedBase, ThatDoesNotFitIsAnError) {
  Sequential wider({Dense(4)}, "base");
  wider.load_weights(path());
  Sequential top = around(wider);
  EXPECT_EQ(message_of([&] { predictions(top); }), "'" + path() +
                                                       "' does not fit: its 'dense/bias' is f32[3], expected f32[4], "
                                                       "its 'dense/kernel' is f32[4,3], expected f32[4,4]");
}

// A strategy's second model and the layers of a second part have numbers that another process does not give them.
TEST(SavedWeights, AreLoadedByTheStructureOfTheirNames) {
  TemporaryDirectory directory;
  const std::string path = directory / "w.safetensors", inner = directory / "inner.safetensors";
  const auto three = [] {
    return Sequential({Dense({.units = 8, .activation = tanh}), Sequential({Dense(3)}), Dense(1)});
  };
  std::vector<float> expected;
  {
    const Strategy strategy("cpu", {.seed = 5});
    Sequential first = three(), second = three();
    first.compile(adam_on(strategy));
    second.compile(adam_on(strategy));
    fit_numbers(first, 1);
    fit_numbers(second, 1);
    ASSERT_TRUE(second.weights()[0].starts_with("sequential_")) << second.weights()[0];
    expected = predictions(second);
    second.save_weights(path);
  }
  Sequential fresh = three(), built = three();
  fresh.load_weights(path);
  EXPECT_EQ(predictions(fresh), expected);
  built.compile(adam_of());
  fit_numbers(built, 1);
  built.load_weights(path);
  EXPECT_EQ(predictions(built), expected);
  const Strategy strategy("cpu");  // and as the second one of another
  Sequential other = three(), later = three();
  other.compile(adam_on(strategy));
  fit_numbers(other, 1);
  later.compile(adam_on(strategy));
  later.load_weights(path);
  EXPECT_EQ(predictions(later), expected);
}

TEST(SavedWeights, OfAnotherStructureAreAnError) {
  TemporaryDirectory directory;
  const std::string path = directory / "w.safetensors";
  Sequential two = two_layers(), three({Dense(8), Dense(8), Dense(1)});
  two.compile(adam_of());
  fit_numbers(two, 1);
  two.save_weights(path);
  three.compile(adam_of());
  fit_numbers(three, 1);
  EXPECT_EQ(message_of([&] { three.load_weights(path); }),
            "'" + path +
                "' does not fit: it lacks 'dense_2/bias' f32[1], 'dense_2/kernel' f32[8,1]; its 'dense_1/bias' is "
                "f32[1], expected f32[8], its 'dense_1/kernel' is f32[8,1], expected f32[8,8]");
}

// By name, too, a base takes what it was told to load when the model around it makes its weights.
TEST_F(PretrainedBase, IsLoadedByNameBeforeItIsAPartOfAModel) {
  for (const int way : {0, 1, 2}) {
    SCOPED_TRACE(way);
    Sequential loaded = base();
    loaded.load_weights(path(), {.by_name = true});
    Sequential top = around(loaded);
    if (way == 1) top.compile(adam_of());
    if (way == 2) top.compile(adam_on(Strategy("cpu", {.seed = 3})));
    EXPECT_EQ(predictions(top), expected_);
  }
  Sequential wider({Dense(4)}, "base");
  wider.load_weights(path(), {.skip_mismatch = true});
  Sequential top = around(wider);
  EXPECT_EQ(predictions(top).size(), static_cast<size_t>(kExamples) * 4);
}

// What an optimizer kept belongs to it: weights that are loaded leave it as it is, and where there was none it begins anew, as in
// Keras.
TEST(SavedWeights, LeaveTheOptimizerAsItIs) {
  TemporaryDirectory directory;
  const std::string path = directory / "w.safetensors";
  Sequential one = two_layers();
  one.compile(adam_of());
  fit_numbers(one, 2);
  one.save_weights(path);
  const Array moment = one.strategy().read("dense/kernel/Adam");
  one.load_weights(path);
  const Array after = one.strategy().read("dense/kernel/Adam");
  EXPECT_TRUE(std::equal(moment.bytes().begin(), moment.bytes().end(), after.bytes().begin()));

  Sequential fresh = two_layers();
  fresh.compile(adam_of());
  fresh.load_weights(path);
  EXPECT_EQ(predictions(fresh), predictions(one));
  fit_numbers(fresh, 1);
  EXPECT_EQ(fresh.strategy().read("global_step").item(), 1);  // its own count
}

TEST(Pixels, OfEightBitsAreFloatsToASequentialWithoutInput) {
  std::vector<uint8_t> pixels;
  for (int i = 0; i < 24 * 4; ++i) pixels.push_back(static_cast<uint8_t>(37 * i));
  const std::vector<float> floats(pixels.begin(), pixels.end());
  const auto predicted = [](const char* device, const Array& x) {
    Sequential model({Lambda([](Tensor x) { return x / 255.0; }), Dense({.units = 8, .activation = tanh}), Dense(1)});
    model.compile(adam_on(Strategy(device)));
    return model.predict(x)[0].to<float>();
  };
  EXPECT_EQ(predicted("cpu", Array(pixels, {24, 4})), predicted("cpu", Array(floats, {24, 4})));
  EXPECT_EQ(predicted("tpu-emulator", Array(pixels, {24, 4})), predicted("tpu-emulator", Array(floats, {24, 4})));
}

// Keras's compile() makes a new optimizer of it, with nothing of the last one's.
TEST(Optimizers, OfBeforeLeaveNothingWhenAModelIsCompiledAgain) {
  TemporaryDirectory directory;
  const Strategy strategy("cpu");
  Sequential model = two_layers();
  const Names expected = {"dense/bias",          "dense/bias/Adam",     "dense/bias/Adam_1",   "dense/kernel",
                          "dense/kernel/Adam",   "dense/kernel/Adam_1", "dense_1/bias",        "dense_1/bias/Adam",
                          "dense_1/bias/Adam_1", "dense_1/kernel",      "dense_1/kernel/Adam", "dense_1/kernel/Adam_1",
                          "global_step",         "learning_rate"};
  const Optimizer held = Adam(0.25);
  for (const double rate : {0.25, 0.125, 0.0625}) {
    CompileOptions options = adam_on(strategy, rate);
    if (rate == 0.25) options.optimizer = held;
    model.compile(options);
    fit_numbers(model, 2);
    EXPECT_EQ(names(strategy), expected);
    EXPECT_EQ(strategy.read("learning_rate").item(), rate);
    EXPECT_EQ(strategy.read("global_step").item(), 2);
  }
  model.save(directory / "tuned");
  // 4 * 8 + 8 + 8 + 1 weights, two moments of each, the step and the rate.
  EXPECT_NE(model.summary_text().find("Optimizer params: 100 "), std::string::npos) << model.summary_text();

  Sequential other = two_layers();
  other.compile(adam_on(Strategy("cpu"), 0.0625));
  other.load(directory / "tuned");
  fit_numbers(model, 1);
  fit_numbers(other, 1);
  EXPECT_EQ(predictions(other), predictions(model));
}

TEST(Optimizers, ThatAreGivenAgainOrTrainAnotherModelGoOn) {
  const Strategy strategy("cpu");
  const Optimizer both = Adam(0.1);
  CompileOptions options = adam_on(strategy);
  options.optimizer = both;
  Sequential one = two_layers(), other = two_layers();
  one.compile(options);
  other.compile(options);
  fit_numbers(one, 2);
  one.compile(options);
  fit_numbers(one, 2);
  EXPECT_EQ(strategy.read("global_step").item(), 4);
  one.compile(adam_on(strategy));
  fit_numbers(one, 1);
  fit_numbers(other, 1);
  EXPECT_EQ(strategy.read("global_step").item(), 5);
  EXPECT_EQ(strategy.read("Adam_1/iterations").item(), 1);
}

TEST(Optimizers, OfAFileThatAnotherTakesThePlaceOfAreForgotten) {
  TemporaryDirectory directory;
  Sequential model = two_layers();
  model.compile(adam_of(0.5));
  fit_numbers(model);
  model.save(directory / "a");
  const Strategy strategy("cpu");
  Sequential other = two_layers();
  other.compile(adam_on(strategy));
  other.load(directory / "a");
  other.compile({.optimizer = SGD({.learning_rate = 0.125, .momentum = 0.9}), .loss = "mse"});
  EXPECT_EQ(predictions(other), predictions(model));
  fit_numbers(other, 1);
  EXPECT_EQ(strategy.read("learning_rate").item(), 0.125);
  EXPECT_EQ(strategy.read("global_step").item(), 1);
  EXPECT_EQ(strategy.waiting(), Names());
}

TEST(Optimizers, GoOnFromAFileThatWasLoadedBeforeTheModelWasCompiled) {
  TemporaryDirectory directory;
  Sequential model = two_layers();
  model.compile(adam_of(0.125));
  fit_numbers(model, 2);
  model.save(directory / "a");
  Sequential other = two_layers();
  other.load(directory / "a");
  other.compile(adam_of(0.125));
  fit_numbers(model, 2);
  fit_numbers(other, 2);
  EXPECT_EQ(predictions(other), predictions(model));
  EXPECT_EQ(other.strategy().read("global_step").item(), 4);
}

Optimizer averaging_adam() { return Adam({.learning_rate = 0.01, .use_ema = true, .ema_momentum = 0.5}); }

// The averages of an optimizer of before would take all training back.
TEST(Averages, AreThoseOfTheOptimizerThatTrains) {
  const Strategy strategy("cpu");
  Sequential model({Dense({.units = 1, .kernel_initializer = zeros()})});
  const auto evaluated = [&] { return model.evaluate(first_input(), numbers(), {.verbose = kNoLines}).at("loss"); };
  model.compile({.optimizer = averaging_adam(), .loss = "mse", .strategy = strategy});
  fit_numbers(model, 1);
  const double first = evaluated();
  model.compile({.optimizer = averaging_adam(), .loss = "mse", .strategy = strategy});
  const History h = model.fit(first_input(), numbers(), {.epochs = 50, .verbose = kNoLines});
  EXPECT_LT(h["loss"].back(), 0.9 * first);
  EXPECT_NEAR(evaluated(), h["loss"].back(), 0.02 * h["loss"].back());

  FitOptions swapping{.epochs = 30, .verbose = kNoLines, .callbacks = {SwapEMAWeights()}};
  swapping.validation_data = FitData(first_input(), numbers());
  model.compile({.optimizer = averaging_adam(), .loss = "mse", .strategy = strategy});
  const History swapped = model.fit(first_input(), numbers(), swapping);
  EXPECT_NEAR(swapped["val_loss"].back(), swapped["loss"].back(), 0.02 * swapped["loss"].back());
}

TEST(Averages, KeepTheDtypeOfWeightsInBfloat16) {
  const Strategy strategy("cpu", {.dtype_policy = "bfloat16"});
  Sequential model({Dense({.units = 1})});
  model.compile({.optimizer = averaging_adam(), .loss = "mse", .strategy = strategy});
  FitOptions options{.epochs = 3, .verbose = kNoLines, .callbacks = {SwapEMAWeights()}};
  options.validation_data = FitData(first_input(), numbers());
  model.fit(first_input(), numbers(), options);
  for (const std::string& weight : model.weights()) {
    const Array value = strategy.read(weight);
    EXPECT_EQ(value.dtype(), DType::kBF16) << weight;
    const std::vector<float> averages = strategy.read<float>(weight + "/ExponentialMovingAverage");
    for (size_t i = 0; i < averages.size(); ++i)  // fit leaves them in the model, rounded
      EXPECT_NEAR(value.to<float>()[i], averages[i], std::fabs(averages[i]) / 256) << weight;
  }
}

// Another model's optimizer keeps averages of the same weights, the one that trains has none.
TEST(Averages, OfAnotherModelsOptimizerAreNotTaken) {
  const Strategy strategy("cpu");
  const Dense shared({.units = 1});
  Sequential one({shared}), other({shared});
  one.compile({.optimizer = averaging_adam(), .loss = "mse", .strategy = strategy});
  fit_numbers(one, 1);
  other.compile({.optimizer = SGD(0.01), .loss = "mse", .strategy = strategy});
  FitOptions options{.verbose = kNoLines, .callbacks = {SwapEMAWeights()}};
  options.validation_data = FitData(first_input(), numbers());
  EXPECT_NE(message_of([&] { other.fit(first_input(), numbers(), options); }).find("no weight has a moving average"),
            std::string::npos);
}

TEST(DeadModels, LeaveTheirNamesAndNoValues) {
  const Strategy strategy("cpu");
  std::vector<float> trained;
  Names before;
  for (int fold = 0; fold < 3; ++fold) {
    Sequential model({Dense({.units = 4, .name = "hidden"}), Dense(1)}, "net");
    model.compile(adam_on(strategy));
    predictions(model);
    const std::vector<float> fresh = strategy.read<float>("hidden/kernel");
    if (fold > 0) {
      EXPECT_NE(fresh, trained);
    }
    fit_numbers(model);
    trained = strategy.read<float>("hidden/kernel");
    EXPECT_NE(trained, fresh);
    EXPECT_EQ(strategy.read("global_step").item(), 3);
    if (fold > 0) {
      EXPECT_EQ(names(strategy), before);
    }
    before = names(strategy);
  }
  Sequential wider({Dense({.units = 6, .name = "hidden"}), Dense(1)}, "net");  // other shapes are no matter
  wider.compile(adam_on(strategy));
  fit_numbers(wider);
  EXPECT_EQ(names(strategy), before);
}

TEST(DeadModels, DoNotTakeWhatAFileHasForTheLiving) {
  TemporaryDirectory directory;
  const Strategy strategy("cpu");
  std::vector<float> expected;
  {
    Sequential model = two_layers();
    model.compile(adam_on(strategy));
    fit_numbers(model);
    expected = predictions(model);
    model.save(directory / "all");
    model.save_weights(directory / "weights");
  }
  Sequential all = two_layers();
  all.compile(adam_on(strategy));
  all.load(directory / "all");
  EXPECT_EQ(predictions(all), expected);
  fit_numbers(all, 1);
  EXPECT_EQ(strategy.read("global_step").item(), 4);
}

}  // namespace
}  // namespace tenon
