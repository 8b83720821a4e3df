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
  spec.loss = mean_squared_error(y, labels) + params.get<double>("add", 0);
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

RunConfig every_step(const std::string& dir) { return cpu(dir, {.save_checkpoints_steps = 1}); }

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
