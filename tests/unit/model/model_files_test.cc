// Models to files and back, in both formats.
#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/callbacks.h"
#include "tenon/checkpoint.h"
#include "tenon/preprocessing.h"
#include "unit/data/temporary_directory.h"
#include "unit/model/model_data_testing.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

using namespace model_testing;

Sequential layers(int64_t units = 5) {
  return Sequential(
      {Dense({.units = units, .activation = tanh}), BatchNormalization(), Dropout(0.25), Dense({.units = 3})});
}

Sequential compiled(uint64_t seed = 0) {
  Sequential model = layers();
  model.compile({.optimizer = Adam(0.01),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .strategy = Strategy("cpu", {.seed = seed})});
  return model;
}

void train(Model& model, int epochs) {
  model.fit(first_input(), labels(), {.batch_size = 8, .epochs = epochs, .verbose = Verbose::kSilent});
}

Arrays values(Model& model) {
  Arrays out;
  for (const auto& v : model.strategy().variables()) out.emplace(v.name, model.strategy().read(v.name));
  return out;
}

void expect_same_bits(const Arrays& a, const Arrays& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, value] : a)
    EXPECT_TRUE(std::equal(value.bytes().begin(), value.bytes().end(), b.at(name).bytes().begin())) << name;
}

class ModelFiles : public ::testing::TestWithParam<const char*> {
 protected:
  std::string path() const { return directory_ / GetParam(); }
  TemporaryDirectory directory_;
};
INSTANTIATE_TEST_SUITE_P(Formats, ModelFiles, ::testing::Values("model", "model.safetensors"));

TEST_P(ModelFiles, TrainingGoesOnWithTheSameBits) {
  Sequential one = compiled();
  train(one, 2);
  one.save(path());
  train(one, 2);

  Sequential other = compiled();
  other.load(path());
  train(other, 2);
  expect_same_bits(values(one), values(other));
}

TEST_P(ModelFiles, AModelThatIsLoadedMayBeEvaluatedBeforeItIsTrained) {
  Sequential one = compiled();
  train(one, 2);
  one.save(path());
  const EvaluateOptions silent{.verbose = Verbose::kSilent};
  const double loss = one.evaluate(first_input(), labels(), silent).at("loss");
  train(one, 1);

  Sequential other = compiled();
  other.load(path());
  EXPECT_EQ(other.evaluate(first_input(), labels(), silent).at("loss"), loss);
  train(other, 1);
  expect_same_bits(values(one), values(other));
}

TEST_P(ModelFiles, WeightsAloneMakeTheSamePredictions) {
  Sequential one = compiled();
  train(one, 1);
  one.save_weights(path());
  Sequential other = compiled(9);
  other.load_weights(path());
  EXPECT_EQ(other.predict(first_input())[0].to<float>(), one.predict(first_input())[0].to<float>());
  EXPECT_EQ(names(other.strategy()), (Names{"batch_normalization/beta", "batch_normalization/gamma",
                                            "batch_normalization/moving_mean", "batch_normalization/moving_variance",
                                            "dense/bias", "dense/kernel", "dense_1/bias", "dense_1/kernel"}));
}

TEST_P(ModelFiles, WeightsThatAreNotTheModelsAreNamed) {
  Sequential one = layers(4);
  one.compile({.strategy = Strategy("cpu")});
  one.predict(first_input());
  one.save_weights(path());

  Sequential other({Dense({.units = 5, .activation = tanh, .name = "first"}), Dense({.units = 3})});
  other.compile({.strategy = Strategy("cpu")});
  const std::string expected =
      "'" + path() +
      "' does not fit: it lacks 'first/bias' f32[5], 'first/kernel' f32[4,5]; its 'dense/bias' is f32[4], "
      "expected f32[3], its 'dense/kernel' is f32[4,4], expected f32[5,3]; it has 'batch_normalization/beta', "
      "'batch_normalization/gamma', 'batch_normalization/moving_mean', 'batch_normalization/moving_variance', "
      "'dense_1/bias', 'dense_1/kernel', which is not here";
  other.load_weights(path());  // its own are not known yet
  EXPECT_EQ(message_of([&] { other.predict(first_input()); }), expected);

  Sequential built({Dense({.units = 5, .activation = tanh, .name = "first"}), Dense({.units = 3})});
  built.compile({.strategy = Strategy("cpu")});
  const std::vector<float> before = built.predict(first_input())[0].to<float>();
  EXPECT_EQ(message_of([&] { built.load_weights(path()); }), expected);
  EXPECT_EQ(built.predict(first_input())[0].to<float>(), before);
}

TEST_P(ModelFiles, AModelWithAnInputHasItsWeightsAtOnce) {
  Sequential one({Input({4}), Dense({.units = 2})});
  const Strategy strategy("cpu");
  one.compile({.strategy = strategy});
  EXPECT_EQ(strategy.read("dense/kernel").shape(), (Shape{4, 2}));
  one.save_weights(path());
  Sequential other({Input({4}), Dense({.units = 2})});
  other.compile({.strategy = Strategy("cpu", {.seed = 3})});
  other.load_weights(path());
  EXPECT_EQ(other.strategy().read<float>("dense/kernel"), one.strategy().read<float>("dense/kernel"));
}

// Keras counts a layer's variables among its weights whether call() reads them or not: Normalization's count is one.
TEST_P(ModelFiles, WeightsThatNoProgramReadsAreSavedAndRestored) {
  const auto made = [](uint64_t seed) {
    Sequential model({Input({4}), Normalization(), Dense({.units = 3})});
    model.compile(
        {.loss = SparseCategoricalCrossentropy({.from_logits = true}), .strategy = Strategy("cpu", {.seed = seed})});
    return model;
  };
  Sequential one = made(0);
  EarlyStopping stopping({.monitor = "loss", .restore_best_weights = true});
  ModelCheckpoint weights(path(), {.save_weights_only = true});
  one.fit(first_input(), labels(), {.epochs = 2, .verbose = Verbose::kSilent, .callbacks = {stopping, weights}});

  Sequential other = made(9);
  other.load_weights(path());
  EXPECT_EQ(names(other.strategy()), (Names{"dense/bias", "dense/kernel", "normalization/count", "normalization/mean",
                                            "normalization/variance"}));
  EXPECT_EQ(other.predict(first_input())[0].to<float>(), one.predict(first_input())[0].to<float>());
}

double one_step(Model& model) { return model.train_on_batch(first_input(), labels()).at("loss"); }

Sequential two_dense(const Optimizer& optimizer, bool frozen = false) {
  Dense first({.units = 5, .activation = tanh});
  first.set_trainable(!frozen);
  Sequential model({Input({4}), first, Dense({.units = 3})});
  model.compile({.optimizer = optimizer,
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .strategy = Strategy("cpu")});
  return model;
}

// What the first call that trains says.
template <class Work>
std::string said_by(const Work& work) {
  ::testing::internal::CaptureStderr();
  work();
  return ::testing::internal::GetCapturedStderr();
}

TEST_P(ModelFiles, WhatAnotherOptimizerKeepsBeginsAnewAndIsNamed) {
  const Optimizer momentum = SGD({.learning_rate = 0.01, .momentum = 0.9});
  Sequential adam = two_dense(Adam(0.01));
  one_step(adam);
  adam.save(path());

  Sequential other = two_dense(momentum), weights = two_dense(momentum);
  other.load(path());
  EXPECT_EQ(said_by([&] { one_step(other); }),
            "train_on_batch: '" + path() +
                "', which was loaded, lacks what the optimizer keeps: 'dense/kernel/Momentum', 'dense/bias/Momentum', "
                "'dense_1/kernel/Momentum', 'dense_1/bias/Momentum' begin anew\n");
  weights.load_weights(path());
  one_step(weights);
  EXPECT_EQ(one_step(other), one_step(weights));
  EXPECT_EQ(other.strategy().read("global_step").item(), 3);
}

Names names_in_checkpoint(const std::string& path) {
  Names out;
  const CheckpointFile file = CheckpointFile::open(path).take();
  for (const CheckpointTensor& t : file.tensors()) out.push_back(t.name);
  return out;
}

// Keras saves what the optimizer has. Until it is known which one trains, nothing of a file is lost.
TEST_P(ModelFiles, WhatNoOptimizerTookIsNotSavedAgain) {
  Sequential adam = two_dense(Adam(0.01));
  one_step(adam);
  adam.save(path());
  const auto saved = [&](Sequential& model) {
    model.save(directory_ / "again");
    return names_in_checkpoint(directory_ / "again");
  };
  const Names all = saved(adam);

  Sequential other = two_dense(SGD(0.01));
  other.load(path());
  EXPECT_EQ(saved(other), all);
  one_step(other);
  EXPECT_EQ(saved(other), (Names{"dense/bias", "dense/kernel", "dense_1/bias", "dense_1/kernel", "global_step",
                                 "learning_rate", "tenon/epochs_done"}));
}

// Two models of one Strategy that share a layer: what one optimizer leaves is the other's.
TEST_P(ModelFiles, WhatAnotherModelsOptimizerWillTakeIsSaved) {
  const auto two = [](const Strategy& strategy, Sequential& first, Sequential& second) {
    first.compile({.optimizer = SGD(0.01), .loss = "mse", .strategy = strategy});
    second.compile({.optimizer = Adam(0.01), .loss = "mse", .strategy = strategy});
  };
  const Dense shared({.units = 1, .name = "shared"});
  Sequential first({shared}), second({shared});
  two(Strategy("cpu"), first, second);
  one_step(first);
  one_step(second);
  first.strategy().save(path());  // of both: a model's own file has what it is trained with

  const Dense later({.units = 1, .name = "shared"});
  Sequential one({later}), two_of({later});
  two(Strategy("cpu"), one, two_of);
  one.load(path());
  one_step(one);
  one.save(directory_ / "again");
  const Names saved = names_in_checkpoint(directory_ / "again");
  EXPECT_NE(std::find(saved.begin(), saved.end(), "shared/kernel/Adam/Adam"), saved.end())
      << ::testing::PrintToString(saved);
}

TEST_P(ModelFiles, ALayerThatWasFrozenIsTrainedOn) {
  Sequential frozen = two_dense(Adam(0.01), true);
  one_step(frozen);
  frozen.save(path());
  const std::vector<float> moment = frozen.strategy().read<float>("dense_1/bias/Adam");

  Sequential other = two_dense(Adam(0.01));
  other.load(path());
  EXPECT_EQ(other.strategy().read<float>("dense_1/bias/Adam"), moment);
  const std::string said = said_by([&] { train(other, 2); });
  EXPECT_NE(
      said.find("fit: '" + path() +
                "', which was loaded, lacks what the optimizer keeps: 'dense/kernel/Adam', 'dense/kernel/Adam_1', "
                "'dense/bias/Adam', 'dense/bias/Adam_1' begin anew\n"),
      std::string::npos)
      << said;
  EXPECT_EQ(said_by([&] { train(other, 1); }), "");
}

TEST_P(ModelFiles, AFileOfWeightsIsLoadedBeforeTraining) {
  Sequential one = compiled();
  train(one, 1);
  one.save_weights(path());
  Sequential other = compiled(3), expected = compiled(3);
  other.load(path());
  const std::string said = said_by([&] { train(other, 1); });
  EXPECT_NE(said.find("lacks what the optimizer keeps: "), std::string::npos) << said;
  expected.load_weights(path());
  train(expected, 1);
  expect_same_bits(values(other), values(expected));
}

// As Keras's load_weights() does with a .keras file.
TEST_P(ModelFiles, TheWeightsOfAWholeModelAreLoadedAlone) {
  Sequential one = compiled();
  train(one, 1);
  one.save(path());
  Sequential fresh = compiled(9), built = compiled(9);
  fresh.load_weights(path());
  train(built, 2);
  built.load_weights(path());
  EXPECT_EQ(fresh.predict(first_input())[0].to<float>(), one.predict(first_input())[0].to<float>());
  EXPECT_EQ(built.predict(first_input())[0].to<float>(), one.predict(first_input())[0].to<float>());
  EXPECT_EQ(built.strategy().read("global_step").item(), 6);

  Sequential larger({Input({4}), Dense({.units = 5}), BatchNormalization(), Dense({.units = 3}), Dense(1)});
  larger.compile({.strategy = Strategy("cpu")});
  EXPECT_EQ(message_of([&] { larger.load_weights(path()); }),
            "'" + path() + "' does not fit: it lacks 'dense_2/bias' f32[1], 'dense_2/kernel' f32[3,1]");
  Sequential smaller({Input({4}), Dense({.units = 5})});
  smaller.compile({.strategy = Strategy("cpu")});
  EXPECT_NE(message_of([&] { smaller.load_weights(path()); }).find("'dense_1/kernel', which is not here"),
            std::string::npos);
}

// A part's weights stand behind its name, and those of the head have the name that the part alone gives its own.
TEST_P(ModelFiles, APartTakesItsOwnWeightsByName) {
  for (const bool input_known : {true, false}) {
    Sequential base({Dense({.units = 4, .activation = relu})}, "base"), whole({Input({4}), base, Dense(4)});
    whole.compile({.strategy = Strategy("cpu")});
    whole.save_weights(path());

    Sequential part = input_known ? Sequential({Input({4}), Dense({.units = 4, .activation = relu})}, "base")
                                  : Sequential({Dense({.units = 4, .activation = relu})}, "base");
    part.compile({.strategy = Strategy("cpu", {.seed = 3})});
    const WarmStartReport report = part.load_weights(path(), {.by_name = true});
    EXPECT_EQ(part.predict(first_input())[0].to<float>(), base.predict(first_input())[0].to<float>());
    if (!input_known) continue;
    EXPECT_EQ(report.loaded.at("dense/kernel"), "base/dense/kernel");
    EXPECT_EQ(report.left_over, (Names{"dense/bias", "dense/kernel"}));
  }
}

TEST_P(ModelFiles, WeightsByNameLeaveOtherModelsOfTheStrategyAsTheyAre) {
  const Strategy strategy("cpu");
  const auto made = [&](double first) {
    Sequential model({Input({4}), Dense({.units = 1, .kernel_initializer = constant_initializer(first)})});
    model.compile({.strategy = strategy});
    return model;
  };
  Sequential one = made(1);
  one.save_weights(path());
  Sequential other = made(2);
  one.strategy().write("dense/kernel", Array(std::vector<float>(4, 3.0f), {4, 1}));
  EXPECT_EQ(other.load_weights(path(), {.by_name = true}).loaded.size(), 2u);
  EXPECT_EQ(strategy.read<float>("dense/kernel"), std::vector<float>(4, 3.0f));
  EXPECT_EQ(strategy.read<float>(other.weights()[0]), std::vector<float>(4, 1.0f));
}

struct AtTheBeginning : Callback {
  void on_train_begin(TrainingRun& run) override {
    step = run.step();
    rate = run.learning_rate();
  }
  int64_t step = 0;
  double rate = 0;
};

TEST_P(ModelFiles, StepsAndLearningRateGoOn) {
  Sequential one = compiled();
  train(one, 2);  // 3 steps each
  one.strategy().write("learning_rate", Array(0.125f));
  one.save(path());
  Sequential other = compiled();
  other.load(path());
  AtTheBeginning seen;
  other.fit(first_input(), labels(), {.batch_size = 8, .verbose = Verbose::kSilent, .callbacks = {seen}});
  EXPECT_EQ(seen.step, 6);
  EXPECT_EQ(seen.rate, 0.125);
  EXPECT_EQ(other.strategy().read("learning_rate").item(), 0.125);
  EXPECT_EQ(other.strategy().read("global_step").item(), 9);
}

// Names of other formats and directories: the error says which forms there are, and nothing is written.
TEST(ModelFilesErrors, NamesOfOtherFormatsAreRefused) {
  TemporaryDirectory directory;
  const std::string forms =
      "expected NAME.safetensors, NAME.weights.h5, or NAME for TensorFlow's NAME.index and NAME.data-00000-of-00001";
  Sequential model = compiled();
  train(model, 1);
  const std::string keras = directory / "m.keras", h5 = directory / "m.h5", none = directory.path() + "/",
                    weights = directory / "m.weights.h5", numpy = directory / "m.npz";
  const std::string only = "': of Keras's files .weights.h5 alone is written; " + forms;
  EXPECT_EQ(message_of([&] { model.save(keras); }), "'" + keras + only);
  EXPECT_EQ(message_of([&] { model.save_weights(h5); }), "'" + h5 + only);
  const std::string foreign = "'" + numpy + "': files of .npz are neither written nor read; " + forms;
  EXPECT_EQ(message_of([&] { model.save(numpy); }), foreign);
  EXPECT_EQ(message_of([&] { model.load_weights(numpy); }),
            "'" + numpy +
                "': files of .npz are neither written nor read; read are .safetensors, .safetensors.index.json, "
                ".weights.h5, .keras, .h5, .pt, .pth and a checkpoint's PREFIX");
  const std::string alone =
      "'" + weights + "' takes weights alone, as save_weights() writes them, not what training is made of";
  EXPECT_EQ(message_of([&] { model.save(weights); }), alone);
  EXPECT_EQ(message_of([&] { model.strategy().save(weights); }), alone);
  EXPECT_EQ(message_of([&] { model.save(none); }), "'" + none + "' names no file; " + forms);
  EXPECT_EQ(message_of([&] { model.save(""); }), "'' names no file; " + forms);
  EXPECT_EQ(directory.entries(), 0u);
  EXPECT_EQ(message_of([&] { model.save(directory / "m.v2"); }), "no error");  // a prefix may have dots
}

TEST(ModelFilesErrors, SaysWhatIsMissing) {
  TemporaryDirectory directory;
  Sequential model = compiled();
  EXPECT_EQ(message_of([&] { model.save(directory / "a"); }),
            "save: the model has no weights yet: it was neither trained nor called, and has no Input()");
  EXPECT_EQ(message_of([&] { model.save_weights(directory / "a"); }),
            "save_weights: the model has no weights yet: it was neither trained nor called, and has no Input()");
  EXPECT_NE(message_of([&] { model.load_weights(directory / "a.safetensors"); }).find("a.safetensors"),
            std::string::npos);
  EXPECT_EQ(directory.entries(), 0u);
}

}  // namespace
}  // namespace tenon
