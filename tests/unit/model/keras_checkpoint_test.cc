// Files of tf.train.Checkpoint, which Keras 2 and 3 wrote (tests/fixtures/checkpoints), begin models of the same layers.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "tenon/checkpoint.h"
#include "unit/model/model_data_testing.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

using model_testing::pattern;

const std::string kDirectory = std::string(TENON_GOLDEN) + "/../fixtures/checkpoints/";
const Array kX(pattern(8 * 4, 7, 11, 5, 4), {8, 4});
const Array kY(pattern(8 * 2, 5, 13, 6, 4), {8, 2});

// Predictions for kX, then the losses of two steps of training.
std::vector<double> numbers_of(const std::string& name) {
  std::ifstream file(kDirectory + "checkpoints.csv");
  std::vector<double> out;
  for (std::string line; std::getline(file, line);) {
    std::istringstream row(line);
    std::string field;
    std::getline(row, field, ',');
    if (field != name) continue;
    while (std::getline(row, field, ',')) out.push_back(std::stod(field));
  }
  return out;
}

Sequential small_keras_model(int64_t outputs = 2, bool with_input = true, const Optimizer& optimizer = Adam(0.01)) {
  Sequential model;
  if (with_input) model.add(Input({4}));
  model.add(Dense({.units = 3, .activation = tanh}));
  model.add(BatchNormalization());
  model.add(Dense({.units = outputs}));
  model.compile({.optimizer = optimizer, .loss = MeanSquaredError(), .strategy = Strategy("cpu")});
  return model;
}

void expect_predictions(Model& model, const std::vector<double>& expected) {
  const std::vector<float> y = model.predict(kX)[0].to<float>();
  ASSERT_EQ(y.size(), 16u);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 2e-6) << i;
}

class KerasCheckpoint : public ::testing::TestWithParam<const char*> {
 protected:
  std::string path() const { return kDirectory + GetParam(); }
  std::vector<double> expected_ = numbers_of(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Files, KerasCheckpoint, ::testing::Values("keras2", "legacy", "keras3"));

TEST_P(KerasCheckpoint, WeightsPredictWhatTheyPredictInKeras) {
  Sequential model = small_keras_model();
  const WarmStartReport report = model.load_weights(path(), {.by_name = true});
  EXPECT_EQ(report.loaded.size(), 8u);
  EXPECT_EQ(report.fresh, std::vector<std::string>());
  expect_predictions(model, expected_);
}

TEST_P(KerasCheckpoint, WeightsWaitForAModelThatIsMadeLater) {
  Sequential model = small_keras_model(2, false);
  EXPECT_EQ(model.load_weights(path(), {.by_name = true}).loaded.size(), 0u);
  expect_predictions(model, expected_);
}

TEST_P(KerasCheckpoint, TrainingGoesOnWithAdamsMomentsAndSteps) {
  Sequential model = small_keras_model();
  model.strategy().warm_start({.ckpt_to_initialize_from = path(), .vars_to_warm_start = {".*"}});
  for (const size_t step : {16, 17})
    EXPECT_NEAR(model.train_on_batch(kX, kY).at("loss"), expected_[step], 3e-6 * expected_[step]);
  EXPECT_EQ(model.strategy().read("global_step").item(), 5);
  const WarmStartReport report = model.strategy().warm_started();
  EXPECT_EQ(report.loaded.at("dense_1/bias/Adam_1"), "dense_1/bias/Adam_1");
  EXPECT_EQ(report.fresh, std::vector<std::string>());
}

// The losses of two steps, which the file's Keras had as well where the slots are loaded too.
void expect_going_on(const std::string& name, const Optimizer& optimizer, const std::vector<std::string>& slots) {
  const std::vector<double> expected = numbers_of(name);
  ASSERT_EQ(expected.size(), 18u) << name;
  for (const bool whole : {true, false}) {
    Sequential model = small_keras_model(2, true, optimizer);
    const auto among = whole ? VarsToWarmStart::Among::kAll : VarsToWarmStart::Among::kWeights;
    model.strategy().warm_start({.ckpt_to_initialize_from = kDirectory + name, .vars_to_warm_start = {{".*"}, among}});
    const double tolerance = 3e-6 * expected[17];
    EXPECT_NEAR(model.train_on_batch(kX, kY).at("loss"), expected[16], tolerance) << name;
    const double second = model.train_on_batch(kX, kY).at("loss");
    if (!whole) {
      EXPECT_GT(std::fabs(second - expected[17]), 100 * tolerance) << name << " without slots";
      continue;
    }
    EXPECT_NEAR(second, expected[17], tolerance) << name;
    const WarmStartReport report = model.strategy().warm_started();
    EXPECT_EQ(report.fresh, std::vector<std::string>()) << name;
    for (const std::string& slot : slots) {
      EXPECT_EQ(report.loaded.at("dense/kernel/" + slot), "dense/kernel/" + slot) << name;
      EXPECT_EQ(report.loaded.at("dense_1/bias/" + slot), "dense_1/bias/" + slot) << name;
    }
  }
}

TEST_P(KerasCheckpoint, TrainingGoesOnWithSgdsMomentum) {
  expect_going_on(GetParam() + std::string("_sgd"), SGD({.learning_rate = 0.05, .momentum = 0.9}), {"Momentum"});
}

TEST_P(KerasCheckpoint, TrainingGoesOnWithRmspropsMeansAndMomentum) {
  expect_going_on(GetParam() + std::string("_rmsprop"), RMSprop({.learning_rate = 0.01, .momentum = 0.5}),
                  {"RMSProp", "RMSProp_1"});
  expect_going_on(GetParam() + std::string("_centered"),
                  RMSprop({.learning_rate = 0.01, .momentum = 0.5, .centered = true}),
                  {"RMSProp", "RMSProp_1", "RMSProp_2"});
}

TEST(Keras3Checkpoint, TrainingGoesOnWithAdamWUnderItsNewName) {
  expect_going_on("keras3_adamw", AdamW({.learning_rate = 0.01}), {"Adam", "Adam_1"});
}

TEST_P(KerasCheckpoint, AHeadOfAnotherSizeBeginsAnewAndIsNamed) {
  Sequential model = small_keras_model(5);
  EXPECT_EQ(message_of([&] { model.load_weights(path(), {.by_name = true}); }),
            "'" + path() +
                "': its 'dense_1/bias' is f32[2], variable 'dense_1/bias' is f32[5]; skip_mismatch lets it "
                "begin anew");
  const std::vector<float> before = model.strategy().read<float>("dense_1/kernel");
  const WarmStartReport report = model.load_weights(path(), {.skip_mismatch = true});
  EXPECT_EQ(report.loaded.size(), 6u);
  EXPECT_EQ(report.mismatched, (std::vector<std::string>{"dense_1/bias", "dense_1/kernel"}));
  EXPECT_EQ(model.strategy().read<float>("dense_1/kernel"), before);
}

TEST_P(KerasCheckpoint, NamesOfTensorsAreThoseOfVariables) {
  const CheckpointFile file = CheckpointFile::open(path()).take();
  std::vector<std::string> weights;
  for (const CheckpointTensor& t : file.tensors())
    if (t.name.find("/Adam") == std::string::npos && t.name.starts_with("dense")) weights.push_back(t.name);
  EXPECT_EQ(weights, (std::vector<std::string>{"dense/bias", "dense/kernel", "dense_1/bias", "dense_1/kernel"}));
  EXPECT_EQ(file.global_step().take(), 3);
}

}  // namespace
}  // namespace tenon
