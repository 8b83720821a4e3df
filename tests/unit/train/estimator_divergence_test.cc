// Weights that diverge but stay finite: whatever was saved, a model directory can be trained on.
#include <limits>

#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

// y = w x + b by gradient descent; the learning rate and an added loss are parameters.
EstimatorSpec diverging_line(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  const Tensor y = dense(features["x"], {.units = 1, .kernel_initializer = constant_initializer(0.5)});
  EstimatorSpec spec{.mode = mode, .predictions = {{"y", y}}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = mean_squared_error(labels, y) + params.get<double>("add", 0);
  // The same number with a gradient that is none: 0 * (1 / 0) behind a select.
  if (params.get<bool>("bad_gradient", false)) spec.loss = spec.loss + sqrt(reduce_sum(square(y - y)));
  if (mode == Mode::kTrain) spec.train_op = minimize(SGD({.learning_rate = params.get<double>("rate")}), spec.loss);
  return spec;
}

Dataset four_points(bool repeat) {
  const std::vector<float> x{1, 2, 3, 4}, y{3, 5, 7, 9};
  return Dataset::from_memory(
             {memory_feature<float>("x", DType::kF32, {1}, x), memory_feature<float>("label", DType::kF32, {1}, y)},
             {.batch_size = 4, .repeat = repeat})
      .take();
}

RunConfig every_step(const std::string& dir) {
  return cpu(dir, {.save_checkpoints_steps = 1, .save_summary_steps = 0});
}

Result<TrainResult> train(const std::string& dir, double rate, int64_t steps, Params more = {}) {
  more.set("rate", rate);
  return Estimator(diverging_line, every_step(dir), more).train({.input = four_points(true), .max_steps = steps});
}

// Whether training with an ordinary rate goes on; what is set aside costs one failure.
::testing::AssertionResult recovers(const std::string& dir) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    Estimator estimator(diverging_line, cpu(dir), {{"rate", 0.05}});
    const auto r = estimator.train({.input = four_points(true), .max_steps = 100});
    if (r.ok()) return ::testing::AssertionSuccess();
    if (attempt > 0) return ::testing::AssertionFailure() << r.status().message();
  }
  return ::testing::AssertionFailure();
}

TEST(EstimatorDivergence, TrainingCanGoOnWhateverStepWasSavedLast) {
  // With these rates the loss is no longer finite after 2 to some 40 steps; training that stops before leaves weights
  // of every size behind.
  for (const double rate : {1e25, 1e12, 1e3, 5.0})
    for (int64_t steps : {1, 2, 3, 4, 8, 12, 40}) {
      TemporaryDirectory dir;
      (void)train(dir.path(), rate, steps).ok();
      EXPECT_TRUE(recovers(dir.path())) << "rate " << rate << ", " << steps << " steps";
    }
}

TEST(EstimatorDivergence, ADivergedCheckpointIsSetAsideAndTheOneBeforeIsNewest) {
  TemporaryDirectory dir;
  check(train(dir.path(), 0.01, 3).status());
  check(train(dir.path(), 1e25, 4).status());  // the last update: its weights have no finite loss
  EXPECT_EQ(saved_steps(dir.path()), (std::vector<int64_t>{1, 2, 3, 4}));
  const auto r = train(dir.path(), 0.01, 9);
  ASSERT_FALSE(r.ok());
  EXPECT_MESSAGE(r.status(), "at step 5");
  EXPECT_MESSAGE(r.status(), "model.ckpt-4 had diverged, now called diverged.ckpt-4");
  EXPECT_MESSAGE(r.status(), "training goes on from " + (dir / "model.ckpt-3"));
  EXPECT_EQ(saved_steps(dir.path()), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_TRUE(std::filesystem::exists(dir / "diverged.ckpt-4.index"));
  EXPECT_TRUE(std::filesystem::exists(dir / "diverged.ckpt-4.data-00000-of-00001"));

  TemporaryDirectory whole;
  EXPECT_EQ(train(dir.path(), 0.01, 9).take().loss, train(whole.path(), 0.01, 9).take().loss);
}

// Each step multiplies the loss by some thousands; it is no finite number after some twelve.
TEST(EstimatorDivergence, CheckpointsOfAnAbsurdLossDoNotPushOutSoundOnes) {
  for (const double rate : {5.0, 0.01}) {
    TemporaryDirectory dir;
    check(train(dir.path(), 0.01, 3).status());
    RunConfig config = every_step(dir.path());
    config.keep_checkpoint_max = 3;
    Estimator estimator(diverging_line, config, {{"rate", rate}});
    const double loss = estimator.train({.input = four_points(true), .max_steps = 10}).take().loss;
    if (rate < 1) {
      EXPECT_EQ(saved_steps(dir.path()), (std::vector<int64_t>{8, 9, 10}));
      continue;
    }
    EXPECT_GT(loss, 1e12);
    const std::vector<int64_t> saved = saved_steps(dir.path());
    ASSERT_EQ(saved.size(), 3u);
    EXPECT_LE(saved[1], 6);  // those of the newest losses that are not yet absurd
    EXPECT_EQ(saved[2], 10);
    const auto r = estimator.train({.input = four_points(true), .max_steps = 100});
    ASSERT_FALSE(r.ok());
    EXPECT_MESSAGE(r.status(), "training goes on from " + (dir / ("model.ckpt-" + std::to_string(saved[0]))));
    EXPECT_TRUE(recovers(dir.path()));
  }
}

TEST(EstimatorDivergence, WithoutASoundCheckpointItStartsAnew) {
  TemporaryDirectory dir;
  check(train(dir.path(), 1e25, 1).status());
  const auto r = train(dir.path(), 0.01, 5);
  ASSERT_FALSE(r.ok());
  EXPECT_MESSAGE(r.status(), "training starts anew");
  EXPECT_EQ(Estimator(diverging_line, cpu(dir.path())).global_step().take(), 0);
  EXPECT_EQ(train(dir.path(), 0.01, 5).take().global_step, 5);
}

TEST(EstimatorDivergence, EvaluationThatFindsItSetsItAside) {
  TemporaryDirectory dir;
  check(train(dir.path(), 0.01, 3).status());
  Estimator estimator(diverging_line, cpu(dir.path()), {{"rate", 1e25}});
  const auto r =
      train_and_evaluate(estimator, {.input = four_points(true), .max_steps = 4}, {.input = four_points(false)});
  ASSERT_FALSE(r.ok());
  EXPECT_MESSAGE(r.status(), "evaluation: the loss is");
  EXPECT_MESSAGE(r.status(), "now called diverged.ckpt-4");
  EXPECT_EQ(train(dir.path(), 0.01, 4).take().global_step, 4);
}

TEST(EstimatorDivergence, AHighRateOrABadInputLeavesSoundCheckpointsAlone) {
  TemporaryDirectory dir;
  check(train(dir.path(), 0.01, 3).status());
  const std::string before = dir.read("checkpoint");
  const auto keep_few = [&](double rate, Params more) {
    more.set("rate", rate);
    return Estimator(diverging_line, cpu(dir.path()), more)
        .train({.input = four_points(true), .max_steps = 50})
        .status();
  };
  const Status high = keep_few(1e25, {});
  ASSERT_FALSE(high.ok());
  EXPECT_MESSAGE(high, "training goes on from " + (dir / "model.ckpt-3") + ", or from model.ckpt-2, model.ckpt-1 once");
  const Status model = keep_few(0.01, {{"add", std::numeric_limits<double>::infinity()}});
  ASSERT_FALSE(model.ok());
  EXPECT_MESSAGE(model, "at step 4");
  EXPECT_MESSAGE(model, "the input or the model is at fault");
  EXPECT_EQ(dir.read("checkpoint"), before);
  EXPECT_EQ(saved_steps(dir.path()), (std::vector<int64_t>{1, 2, 3}));
}

// One example a batch, y = 2 x + 1; that of place `bad` has `value` for its x, at every epoch.
Dataset points(int64_t n, int64_t bad, float value) {
  std::vector<float> x, y;
  for (int64_t i = 0; i < n; ++i) {
    x.push_back(i == bad ? value : static_cast<float>(i % 3));
    y.push_back(2 * static_cast<float>(i % 3) + 1);
  }
  return Dataset::from_memory({memory_feature<float>("x", DType::kF32, {1}, std::span<const float>(x)),
                               memory_feature<float>("label", DType::kF32, {1}, std::span<const float>(y))},
                              {.batch_size = 1, .repeat = true, .shuffle_buffer = 0})
      .take();
}

std::vector<std::string> contents(const TemporaryDirectory& dir) {
  std::vector<std::string> out;
  for (const auto& file : std::filesystem::directory_iterator(dir.path()))
    out.push_back(file.path().filename().string() + " " + dir.read(file.path().filename()));
  std::sort(out.begin(), out.end());
  return out;
}

// The weights are sound, the example behind them is not. x = 1e25 makes both losses infinite, those of first values and of
// the checkpoint; 2e19 only that of weights that have learned.
TEST(EstimatorDivergence, AnEnormousFeatureBehindASaveCostsNoCheckpoint) {
  for (const float value : {1e25f, 2e19f, std::numeric_limits<float>::infinity()}) {
    TemporaryDirectory dir;
    std::vector<std::string> before;
    for (int again = 0; again < 3; ++again) {
      const auto r = Estimator(diverging_line, every_step(dir.path()), {{"rate", 0.05}})
                         .train({.input = points(20, 9, value), .max_steps = 18});
      ASSERT_FALSE(r.ok()) << value;
      EXPECT_MESSAGE(r.status(), "at step 10");
      EXPECT_MESSAGE(r.status(), "feature 'x' is ");
      EXPECT_MESSAGE(r.status(), "in example 9");
      EXPECT_MESSAGE(r.status(), "training goes on from " + (dir / "model.ckpt-9"));
      if (again == 0) before = contents(dir);
      EXPECT_TRUE(contents(dir) == before) << r.status().message();
    }
    EXPECT_EQ(saved_steps(dir.path()), (std::vector<int64_t>{5, 6, 7, 8, 9}));
  }
}

// A loss of 1e24 is finite, and the weights behind it are worth nothing. Every attempt leaves the same ones: one copy is kept.
TEST(EstimatorDivergence, WeightsThatAnEnormousFeatureSpoiltAreSetAsideOnce) {
  TemporaryDirectory dir;
  for (int again = 0; again < 3; ++again) {
    const auto r = Estimator(diverging_line, every_step(dir.path()), {{"rate", 0.05}})
                       .train({.input = points(20, 9, 1e12f), .max_steps = 18});
    ASSERT_FALSE(r.ok());
    EXPECT_MESSAGE(r.status(), "now called diverged.ckpt-10;");
    EXPECT_MESSAGE(r.status(), "training goes on from " + (dir / "model.ckpt-9"));
    EXPECT_EQ(dir.entries(), 2 * 5u + 1);
  }
}

// Without other batches there is no telling weights from data, so nothing is thrown away.
TEST(EstimatorDivergence, DataThatAreAllSpoiltCostNoCheckpointWithSoundWeights) {
  TemporaryDirectory dir;
  const auto run = [&](float value, int64_t steps) {
    const std::vector<float> x{value}, y{1};
    Dataset data = Dataset::from_memory({memory_feature<float>("x", DType::kF32, {1}, std::span<const float>(x)),
                                         memory_feature<float>("label", DType::kF32, {1}, std::span<const float>(y))},
                                        {.batch_size = 1, .repeat = true})
                       .take();
    return Estimator(diverging_line, every_step(dir.path()), {{"rate", 0.05}})
        .train({.input = std::move(data), .max_steps = steps});
  };
  ASSERT_TRUE(run(1, 5).ok());
  for (const float value : {1e25f, 3.5e19f}) {
    const auto r = run(value, 9);
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(saved_steps(dir.path()), (std::vector<int64_t>{1, 2, 3, 4, 5})) << r.status().message();
  }
  EXPECT_EQ(run(1, 9).take().global_step, 9);
}

TEST(EstimatorDivergence, WhatIsSetAsideTwiceReplacesNothing) {
  TemporaryDirectory dir;
  for (int round = 0; round < 3; ++round) {
    check(train(dir.path(), 1e25 * (round + 1), 1).status());
    ASSERT_FALSE(train(dir.path(), 0.01, 5).ok());
  }
  for (const char* name : {"diverged.ckpt-1", "diverged.ckpt-1.2", "diverged.ckpt-1.3"}) {
    EXPECT_TRUE(std::filesystem::exists(dir / name + ".index")) << name;
    EXPECT_TRUE(std::filesystem::exists(dir / name + ".data-00000-of-00001")) << name;
  }
}

TEST(EstimatorDivergence, WeightsOfAGradientThatIsNoNumberAreNotSaved) {
  TemporaryDirectory dir;
  check(train(dir.path(), 0.01, 3).status());
  const auto r = train(dir.path(), 0.01, 4, {{"bad_gradient", true}});
  ASSERT_FALSE(r.ok());
  EXPECT_MESSAGE(r.status(), "after step 4 variable 'dense/");
  EXPECT_MESSAGE(r.status(), "model.ckpt-3");
  EXPECT_EQ(saved_steps(dir.path()), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(train(dir.path(), 0.01, 9).take().global_step, 9);
}

}  // namespace
}  // namespace tenon
