// A model that was trained as a part of another: what stays, what is trained, how it is called.
#include "unit/model/fit_testing.h"

namespace tenon {
namespace {

using namespace model_testing;

// Normalizes, drops, and has a weight behind it.
Sequential body() {
  return Sequential(
      {BatchNormalization({.momentum = 0.5}), Dropout(0.5), Dense({.units = 5, .activation = relu, .name = "hidden"})},
      "body");
}

struct Called {
  Sequential part = body();
  Model whole;
  explicit Called(const CallOptions& options) {
    const Symbol x = Input({4});
    whole = Model({x}, {Dense({.units = 3, .name = "head"})(part(x, options))}, "whole");
    CompileOptions compiled = sgd(0.1);
    compiled.optimizer = SGD(0.1);
    whole.compile(compiled);
  }
  std::vector<float> read(const std::string& name) { return whole.strategy().read<float>(name); }
};

// With training = false a step's loss is what evaluate() says before it: nothing is dropped, and moments are the kept ones.
TEST(TrainingFalse, ComputesAsEvaluationDoesAndTrainsTheWeights) {
  Called model({.training = false});
  const double evaluated = model.whole.evaluate(first_input(), labels(), {.verbose = Verbose::kSilent}).at("loss");
  const auto mean = model.read("body/batch_normalization/moving_mean"),
             gamma = model.read("body/batch_normalization/gamma"), hidden = model.read("body/hidden/kernel");
  EXPECT_NEAR(model.whole.train_on_batch(first_input(), labels()).at("loss"), evaluated, 1e-6);
  EXPECT_EQ(model.read("body/batch_normalization/moving_mean"), mean);
  EXPECT_NE(model.read("body/batch_normalization/gamma"), gamma);
  EXPECT_NE(model.read("body/hidden/kernel"), hidden);
}

TEST(TrainingFalse, IsNotTheDefault) {
  Called model({});
  (void)model.whole.evaluate(first_input(), labels(), {.verbose = Verbose::kSilent});
  const auto mean = model.read("body/batch_normalization/moving_mean");
  model.whole.train_on_batch(first_input(), labels());
  EXPECT_NE(model.read("body/batch_normalization/moving_mean"), mean);
}

TEST(TrainingFalse, HoldsForTensorsToo) {
  Sequential part = body();
  Strategy strategy("cpu");
  const auto same_twice = [&](const CallOptions& options) {
    Function f = strategy.function(
        [&](const Features& in) {
          return Outputs{{"a", part(in["x"], options)}, {"b", part(in["x"], options)}};
        },
        {.mode = Mode::kTrain});
    auto out = f(Arrays{{"x", first_input()}});
    return out["a"].to<float>() == out["b"].to<float>();
  };
  EXPECT_TRUE(same_twice({.training = false}));
  EXPECT_FALSE(same_twice({}));  // each call draws of its own
}

TEST(TrainingTrue, IsRefusedWhereNothingIsTrained) {
  try {
    const Called model({.training = true});  // which fit() would validate
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("training = true where nothing is trained"), std::string::npos) << e.what();
  }
}

// A frozen base keeps its weights under a new head; from a layer on it goes on.
TEST(Transfer, TrainsWhatIsNotFrozenFromALayerOn) {
  const Symbol x = Input({4});
  Sequential base(
      {Dense({.units = 6, .activation = tanh, .name = "a"}), Dense({.units = 5, .activation = tanh, .name = "b"})},
      "base");
  CompileOptions options = sgd(0.5);
  Model first({x}, {Dense({.units = 3, .name = "old"})(base(x))}, "first");
  first.compile(options);
  first.train_on_batch(first_input(), labels());
  options.strategy = first.strategy();
  Model second({x}, {Dense({.units = 3, .name = "new"})(base(x, {.training = false}))}, "second");

  const auto kernels = [&] {
    return std::vector{second.strategy().read<float>("base/a/kernel"), second.strategy().read<float>("base/b/kernel")};
  };
  const auto trained_with = [&](bool all, bool a) {
    base.set_trainable(all);
    base.get_layer("a")->set_trainable(a);
    second.compile(options);
    const auto before = kernels();
    second.train_on_batch(first_input(), labels());
    const auto after = kernels();
    return std::vector<bool>{before[0] != after[0], before[1] != after[1]};
  };
  EXPECT_EQ(trained_with(false, true), (std::vector<bool>{false, false}));
  EXPECT_EQ(trained_with(true, false), (std::vector<bool>{false, true}));
  EXPECT_EQ(trained_with(true, true), (std::vector<bool>{true, true}));
}

// A base of two parts, each of a dense layer, batch normalization and an activation, under a head.
struct Parts {
  Sequential base = Sequential(
      {Input({4}), Dense({.units = 6, .name = "a1"}), BatchNormalization({.momentum = 0.5, .name = "a2"}), ReLU(),
       Dense({.units = 5, .name = "b1"}), BatchNormalization({.momentum = 0.5, .name = "b2"}), ReLU()},
      "base");
  Model whole;
  Parts() {
    const Symbol x = Input({4});
    whole = Model({x}, {Dense({.units = 3, .name = "head"})(base(x))}, "whole");
  }

  // What a step changes, the moments among it.
  std::set<std::string> trained() {
    CompileOptions options = sgd(0.5);
    options.optimizer = SGD(0.5);
    whole.compile(options);
    std::map<std::string, std::vector<float>> before;
    for (const std::string& name : whole.weights()) before[name] = whole.strategy().read<float>(name);
    whole.train_on_batch(first_input(), labels());
    std::set<std::string> out;
    for (const auto& [name, value] : before)
      if (whole.strategy().read<float>(name) != value) out.insert(name);
    return out;
  }
};

// Kernels in front of a batch normalization learn, biases there do not: their gradient is 0 but for rounding.
std::set<std::string> without_biases(std::set<std::string> names) {
  std::erase_if(names, [](const std::string& name) { return name.ends_with("1/bias"); });
  return names;
}

const std::set<std::string> kOfA = {"base/a1/kernel", "base/a2/beta", "base/a2/gamma", "base/a2/moving_mean",
                                    "base/a2/moving_variance"},
                            kOfB = {"base/b1/kernel", "base/b2/beta", "base/b2/gamma", "base/b2/moving_mean",
                                    "base/b2/moving_variance"},
                            kOfHead = {"head/bias", "head/kernel"};

std::set<std::string> all_of(std::initializer_list<std::set<std::string>> sets) {
  std::set<std::string> out;
  for (const auto& set : sets) out.insert(set.begin(), set.end());
  return out;
}

TEST(SetLayersTrainable, FreezesLayersByTheNamesOfTheirWeights) {
  Parts parts;
  EXPECT_EQ(without_biases(parts.trained()), all_of({kOfA, kOfB, kOfHead}));
  parts.whole.set_layers_trainable("^base/a", false);  // moments stay, too
  EXPECT_EQ(without_biases(parts.trained()), all_of({kOfB, kOfHead}));
  parts.whole.set_layers_trainable("/kernel$", false);  // a layer is frozen whole
  EXPECT_EQ(parts.trained(),
            (std::set<std::string>{"base/b2/beta", "base/b2/gamma", "base/b2/moving_mean", "base/b2/moving_variance"}));
  parts.whole.set_layers_trainable("", true);  // which is found in any name
  EXPECT_EQ(without_biases(parts.trained()), all_of({kOfA, kOfB, kOfHead}));
}

TEST(SetLayersTrainable, TakesAPartByItsOwnNames) {
  Parts parts;
  parts.base.set_layers_trainable("^a", false);
  EXPECT_EQ(without_biases(parts.trained()), all_of({kOfB, kOfHead}));
  parts.base.set_layers_trainable("^a2/gamma$", true);
  EXPECT_EQ(
      without_biases(parts.trained()),
      all_of({{"base/a2/beta", "base/a2/gamma", "base/a2/moving_mean", "base/a2/moving_variance"}, kOfB, kOfHead}));
}

TEST(SetLayersTrainable, SaysWhereNothingIsFound) {
  Parts parts;
  const auto message = [&](Model& model, std::string_view expression) -> std::string {
    try {
      model.set_layers_trainable(expression, false);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message(parts.whole, "^haed/kernel"),
            "model 'whole': '^haed/kernel' is found in no variable's name; variables are 'base/a1/kernel', "
            "'base/a1/bias', 'base/a2/gamma', 'base/a2/beta', 'base/a2/moving_mean' and 9 more; did you mean "
            "'head/kernel'?");
  EXPECT_NE(message(parts.whole, "re_lu").find("'re_lu' is found in no variable's name"), std::string::npos);
  EXPECT_NE(message(parts.whole, "(").find("model 'whole': '(' is no regular expression"), std::string::npos);
  Sequential open({ReLU()}), bare({Input({4}), ReLU()}, "bare");
  EXPECT_NE(message(open, "a").find("the shapes of the model's inputs are not known yet"), std::string::npos);
  EXPECT_EQ(message(bare, "a"), "model 'bare': 'a' is found in no variable's name; there is no variable");
}

}  // namespace
}  // namespace tenon
