// Training that is taken up again ends with the bits of training that was never interrupted.
#include <filesystem>
#include <utility>

#include "checkpoint/tensor_bundle.h"
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

// Shuffled, with noise for each place in the stream, 23 examples in batches of 4: epochs end inside batches. The
// model has dropout and Adam.
Dataset data() { return examples(23, training_input(4), 0.5f); }

std::string hash_after(const std::string& dir, std::initializer_list<int64_t> stops, RunConfig more = {}) {
  std::string hash;
  for (const int64_t stop : stops) {
    Estimator estimator(small_model, cpu(dir, more));
    EXPECT_EQ(estimator.train({.input = data(), .max_steps = stop}).take().global_step, stop);
    hash = estimator.variables_hash().take();
  }
  return hash;
}

TEST(EstimatorResume, TwentyAndTwentyStepsAreForty) {
  TemporaryDirectory whole, parts;
  EXPECT_EQ(hash_after(parts.path(), {20, 40}), hash_after(whole.path(), {40}));
}

TEST(EstimatorResume, EveryStepCanBeTheLastBeforeARestart) {
  TemporaryDirectory whole, parts;
  EXPECT_EQ(hash_after(parts.path(), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}), hash_after(whole.path(), {13}));
}

TEST(EstimatorResume, CheckpointsAndCallLengthsChangeNoBit) {
  TemporaryDirectory a, b, c;
  const std::string hash = hash_after("", {40});
  EXPECT_EQ(hash_after(a.path(), {40}, {.save_checkpoints_steps = 3}), hash);
  EXPECT_EQ(hash_after(b.path(), {7, 40}, {.iterations_per_loop = 9}), hash);
  EXPECT_EQ(hash_after(c.path(), {11, 40}, {.iterations_per_loop = 1}), hash);
}

TEST(EstimatorResume, CheckpointsBesideTrainingAreThoseBetweenSteps) {
  TemporaryDirectory between, beside, resumed;
  const RunConfig sync{.save_checkpoints_steps = 3, .keep_checkpoint_max = 0};
  RunConfig async = sync;
  async.async_checkpoints = true;
  std::vector<int64_t> told;
  Estimator estimator(small_model, cpu(beside.path(), async));
  estimator.set_events({.on_checkpoint = [&](int64_t step, const std::string&) { told.push_back(step); }});
  check(estimator.train({.input = data(), .max_steps = 20}).status());
  EXPECT_EQ(told, (std::vector<int64_t>{3, 6, 9, 12, 15, 18, 20}));
  const std::string hash = hash_after(between.path(), {20}, sync);
  EXPECT_EQ(estimator.variables_hash().take(), hash);
  for (const int64_t step : told) {
    const std::string name = "/model.ckpt-" + std::to_string(step);
    EXPECT_EQ(BundleReader::open(beside.path() + name).take().fingerprint(),
              BundleReader::open(between.path() + name).take().fingerprint())
        << name;
  }
  EXPECT_EQ(hash_after(resumed.path(), {7, 20}, async), hash);
}

// The directory goes once the first checkpoint is there.
TEST(EstimatorResume, ACheckpointBesideTrainingThatFailsEndsIt) {
  TemporaryDirectory dir;
  Estimator estimator(small_model, cpu(dir.path(), {.save_checkpoints_steps = 2, .async_checkpoints = true}));
  bool taken = false;
  estimator.set_events({.on_checkpoint = [&](int64_t, const std::string&) {
    if (std::exchange(taken, true)) return;
    std::filesystem::rename(dir.path(), dir.path() + ".gone");
  }});
  const Status status = estimator.train({.input = data(), .max_steps = 1000}).status();
  std::filesystem::rename(dir.path() + ".gone", dir.path());
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(dir.path()), std::string::npos) << status.message();
}

TEST(EstimatorResume, TheSameEstimatorGoesOnAfterEvaluating) {
  Estimator estimator(small_model, cpu(""));
  for (const int64_t stop : {15, 25, 40}) {
    check(estimator.train({.input = data(), .max_steps = stop}).status());
    check(estimator.evaluate({.input = examples(10, evaluation_input(4))}).status());
  }
  EXPECT_EQ(estimator.variables_hash().take(), hash_after("", {40}));
}

// Without this the tests above would pass with no randomness at all.
TEST(EstimatorResume, OtherSeedsGiveOtherWeights) {
  const std::string hash = hash_after("", {5});
  EXPECT_NE(hash_after("", {5}, {.seed = 1}), hash);
  Estimator other(small_model, cpu(""));
  check(other.train({.input = examples(23, training_input(4, 2), 0.5f), .max_steps = 5}).status());
  EXPECT_NE(other.variables_hash().take(), hash);
}

TEST(EstimatorResume, SaysWhenTheInputIsAnother) {
  TemporaryDirectory dir;
  hash_after(dir.path(), {5});
  Estimator estimator(small_model, cpu(dir.path()));
  std::string said;
  estimator.set_events({.on_info = [&](const std::string& line) { said += line + "\n"; }});
  check(estimator.train({.input = examples(17, training_input(4)), .max_steps = 8}).status());
  EXPECT_NE(said.find("the input is not the one"), std::string::npos) << said;
}

// 23 examples that are never far from those of `added` 0.
Dataset in_memory(float added, InputOptions options) {
  std::vector<float> x(23 * kInputs);
  for (size_t i = 0; i < x.size(); ++i) x[i] = input_value(static_cast<int64_t>(i / kInputs), i % kInputs) + added;
  std::vector<int32_t> y(23);
  for (size_t i = 0; i < y.size(); ++i) y[i] = label_value(static_cast<int64_t>(i));
  return Dataset::from_memory({memory_feature<float>("x", DType::kF32, Shape{kInputs}, std::span<const float>(x)),
                               memory_feature<int32_t>("label", DType::kI32, Shape{}, std::span<const int32_t>(y))},
                              options)
      .take();
}

TEST(EstimatorResume, TellsOtherDataOfTheSameSizeAndReadsThemFromTheBeginning) {
  for (const bool other : {false, true}) {
    TemporaryDirectory dir;
    check(Estimator(small_model, cpu(dir.path()))
              .train({.input = in_memory(0, training_input(4)), .max_steps = 5})
              .status());
    Estimator estimator(small_model, cpu(dir.path()));
    std::string said;
    estimator.set_events({.on_info = [&](const std::string& line) { said += line + "\n"; }});
    check(estimator.train({.input = in_memory(other ? 0.25f : 0, training_input(4)), .max_steps = 8}).status());
    EXPECT_EQ(said.find("it holds other data, and is read from its beginning") != std::string::npos, other) << said;
    const BundleReader saved = BundleReader::open(dir / "model.ckpt-8").take();
    EXPECT_EQ(saved.read_scalar("tenon/input_samples").take(), other ? 3 * 4 : 8 * 4);
  }
}

}  // namespace
}  // namespace tenon
