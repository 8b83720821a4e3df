// What a model's file holds, and under which names: the model's alone, as a program with nothing else has them.
#include <gtest/gtest.h>

#include "tenon/callbacks.h"
#include "tenon/checkpoint.h"
#include "unit/data/temporary_directory.h"
#include "unit/model/model_data_testing.h"
#include "unit/step/step_testing.h"

namespace tenon::saved_models {
namespace {

using namespace model_testing;

Array targets() { return Array(pattern(kExamples * 3, 3, 7, 3, 4), {kExamples, 3}); }

void one_step(Model& model) { model.train_on_batch(first_input(), targets()); }

std::vector<float> predictions(Model& model) { return model.predict(first_input())[0].to<float>(); }

Sequential made(const Strategy& strategy, const Optimizer& optimizer = Adam(0.01)) {
  Sequential model({Input({4}), Dense(3)});
  model.compile({.optimizer = optimizer, .loss = "mse", .strategy = strategy});
  return model;
}

Arrays values(const Strategy& strategy) {
  Arrays out;
  for (const auto& v : strategy.variables()) out.emplace(v.name, strategy.read(v.name));
  return out;
}

void expect_same_bits(const Arrays& a, const Arrays& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, value] : a)
    EXPECT_TRUE(std::equal(value.bytes().begin(), value.bytes().end(), b.at(name).bytes().begin())) << name;
}

template <class Work>
std::string said_by(const Work& work) {
  ::testing::internal::CaptureStderr();
  work();
  return ::testing::internal::GetCapturedStderr();
}

Names names_in_checkpoint(const std::string& path) {
  Names out;
  const CheckpointFile file = CheckpointFile::open(path).take();
  for (const CheckpointTensor& t : file.tensors()) out.push_back(t.name);
  return out;
}

class SavedModel : public ::testing::TestWithParam<const char*> {
 protected:
  std::string path() const { return directory_ / GetParam(); }
  TemporaryDirectory directory_;
};
INSTANTIATE_TEST_SUITE_P(Formats, SavedModel, ::testing::Values("model", "model.safetensors"));

// Whatever its optimizer kept begins anew, and the next step says so, as in a model that has not been trained.
TEST_P(SavedModel, AFileFromBeforeTrainingIsLoadedBehindIt) {
  Sequential one = made(Strategy("cpu")), fresh = made(Strategy("cpu"));
  one.save(path());
  one_step(one);
  one.load(path());
  EXPECT_EQ(predictions(one), predictions(fresh));
  fresh.load(path());
  const std::string said = said_by([&] { one_step(fresh); });
  EXPECT_EQ(said_by([&] { one_step(one); }), said);
  EXPECT_NE(said.find("lacks what the optimizer keeps: "), std::string::npos) << said;
  EXPECT_NE(said.find("'dense/kernel/Adam', 'dense/kernel/Adam_1'"), std::string::npos) << said;
  expect_same_bits(values(one.strategy()), values(fresh.strategy()));
  EXPECT_EQ(one.strategy().read("global_step").item(), 1);
}

TEST_P(SavedModel, AFileOfAnotherOptimizerIsLoadedBehindTraining) {
  Sequential plain = made(Strategy("cpu"), SGD(0.01)), adam = made(Strategy("cpu"));
  one_step(plain);
  one_step(plain);
  plain.save(path());
  one_step(adam);
  adam.load(path());
  EXPECT_EQ(adam.strategy().read<float>("dense/kernel"), plain.strategy().read<float>("dense/kernel"));
  EXPECT_EQ(adam.strategy().read<float>("dense/bias/Adam"), std::vector<float>(3, 0.0f));
  EXPECT_EQ(adam.strategy().read("global_step").item(), 2);
  EXPECT_NE(said_by([&] { one_step(adam); }).find("'dense/kernel/Adam', 'dense/kernel/Adam_1'"), std::string::npos);
}

// The file of one of several models of a strategy is that model's, for a program that has no other.
TEST_P(SavedModel, OfASecondModelOfAStrategyHaveIt) {
  const Strategy both("cpu");
  Sequential first = made(both), second = made(both);
  one_step(first);
  one_step(second);
  one_step(second);
  second.save(path());
  second.save_weights(directory_ / "weights");
  second.save(directory_ / "named");
  EXPECT_EQ(names_in_checkpoint(directory_ / "named"),
            (Names{"dense/bias", "dense/bias/Adam", "dense/bias/Adam_1", "dense/kernel", "dense/kernel/Adam",
                   "dense/kernel/Adam_1", "global_step", "learning_rate", "tenon/epochs_done"}));
  const std::vector<float> expected = predictions(second);
  const std::vector<float> of_first = predictions(first);

  Sequential whole = made(Strategy("cpu", {.seed = 7})), weights = made(Strategy("cpu", {.seed = 7})),
             by_name = made(Strategy("cpu", {.seed = 7}));
  whole.load(path());
  weights.load_weights(directory_ / "weights");
  by_name.load_weights(path(), {.by_name = true});
  EXPECT_EQ(predictions(whole), expected);
  EXPECT_EQ(predictions(weights), expected);
  EXPECT_EQ(predictions(by_name), expected);

  one_step(second);
  const std::vector<float> further = predictions(second);
  EXPECT_EQ(said_by([&] { one_step(whole); }), "");
  EXPECT_EQ(predictions(whole), further);  // with the second's moments, steps and rate
  second.load(path());
  EXPECT_EQ(predictions(second), expected);
  EXPECT_EQ(predictions(first), of_first);
  one_step(second);
  EXPECT_EQ(predictions(second), further);
}

TEST_P(SavedModel, OfAModelWithoutInputWaitForNoOtherModelOfItsStrategy) {
  Sequential alone({Dense(3)});
  alone.compile({.optimizer = Adam(0.01), .loss = "mse", .strategy = Strategy("cpu")});
  one_step(alone);
  alone.save(path());
  const Strategy strategy("cpu");
  Sequential other({Input({4}), Dense(3)}), later({Dense(3)});
  other.compile({.strategy = strategy});
  later.compile({.optimizer = Adam(0.01), .loss = "mse", .strategy = strategy});
  const std::vector<float> before = predictions(other);
  EXPECT_EQ(message_of([&] { later.load(path()); }),
            "load: the model's weights are not known yet, and its strategy has variables of others; call it first, or "
            "begin it with Input()");
  EXPECT_EQ(predictions(other), before);
  later.predict(first_input());
  later.load(path());
  EXPECT_EQ(predictions(later), predictions(alone));
}

// As Keras's files, whose names are those of layers within the model.
TEST_P(SavedModel, OfAModelAroundATrainedOneAreLoadedWhereNothingWasTrained) {
  const auto around = [](const Sequential& base) { return Sequential({Input({4}), base, Dense(3)}, "whole"); };
  Sequential base({Input({4}), Dense(3)}, "base");
  base.compile({.optimizer = "adam", .loss = "mse", .strategy = Strategy("cpu")});
  one_step(base);
  Sequential tuned = around(base);
  tuned.compile({.optimizer = "adam", .loss = "mse"});
  one_step(tuned);
  const std::vector<float> expected = predictions(tuned);
  for (const std::string how : {"load", "load_weights", "by name", "before compile"}) {
    SCOPED_TRACE(how);
    tuned.save(path());
    if (how != "load" && how != "by name") tuned.save_weights(path());
    Sequential later = around(Sequential({Input({4}), Dense(3)}, "base"));
    const CompileOptions options{.optimizer = "adam", .loss = "mse", .strategy = Strategy("cpu", {.seed = 8})};
    if (how != "before compile") later.compile(options);
    if (how == "load") later.load(path());
    if (how == "by name") later.load_weights(path(), {.by_name = true});
    if (how == "load_weights" || how == "before compile") later.load_weights(path());
    if (how == "before compile") later.compile(options);
    EXPECT_EQ(predictions(later), expected);
    tuned.load_weights(path());  // its own file is its own
    EXPECT_EQ(predictions(tuned), expected);
  }
}

TEST_P(SavedModel, OfACheckpointWithinAScopeHaveTheModelThatIsTrained) {
  const Strategy strategy("cpu");
  const auto scope = strategy.scope();
  Sequential first({Input({4}), Dense(3)}, "first"), second({Input({4}), Dense(3)}, "second");
  first.compile({.optimizer = "adam", .loss = "mse"});
  second.compile({.optimizer = "adam", .loss = "mse"});
  one_step(first);
  second.fit(first_input(), targets(), {.verbose = Verbose::kSilent, .callbacks = {ModelCheckpoint(path())}});
  Sequential later({Input({4}), Dense(3)}, "second");
  later.compile({.optimizer = "adam", .loss = "mse", .strategy = Strategy("cpu")});
  later.load(path());
  EXPECT_EQ(predictions(later), predictions(second));
}

}  // namespace
}  // namespace tenon::saved_models
