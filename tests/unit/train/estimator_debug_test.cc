// print(), check_numerics() and the throughput of an Estimator's training.
#include "tenon/debug.h"
#include "tenon/variables.h"
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

// n counts the steps from 0; what is printed is half of it, what is checked 1 / (5 - n), which is infinite in step 6.
EstimatorSpec counting(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  EstimatorSpec spec = small_model(features, labels, mode, params);
  if (mode != Mode::kTrain) return spec;
  const Tensor n = variable(features["x"], "n", {}, zeros(), false);
  print(n * 0.5, "half");
  check_numerics(1.0 / (5.0 - n), "what is left");
  assign(n, n + 1.0);
  return spec;
}

struct Watches : Callback {
  Throughput last;
  void on_train_batch_end(TrainingRun& run, int64_t, const Logs&) override { last = run.throughput(); }
};

TEST(EstimatorDebug, PrintsEachStepByItsNumber) {
  Estimator estimator(counting, {.device = "cpu", .iterations_per_loop = 2});
  estimator.set_events({});
  testing::internal::CaptureStderr();
  const Result<TrainResult> result = estimator.train({.input = examples(60, training_input(6)), .max_steps = 3});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "step 1: half, f32[]: 0\nstep 2: half, f32[]: 0.5\nstep 3: half, f32[]: 1\n");
  EXPECT_TRUE(result.ok()) << result.status().message();
}

TEST(EstimatorDebug, EndsAtANumberThatIsNotFiniteAndGoesOnFromTheCheckpoint) {
  TemporaryDirectory directory;
  Estimator estimator(counting, {.model_dir = directory.path(), .device = "cpu", .iterations_per_loop = 4});
  testing::internal::CaptureStderr();
  EXPECT_TRUE(estimator.train({.input = examples(60, training_input(6)), .max_steps = 4}).ok());
  const Result<TrainResult> result = estimator.train({.input = examples(60, training_input(6)), .max_steps = 20});
  testing::internal::GetCapturedStderr();
  ASSERT_FALSE(result.ok());
  EXPECT_TRUE(
      result.status().message().starts_with("check_numerics: what is left ('div'), f32[], holds infinity at step 6"))
      << result.status().message();
  EXPECT_EQ(estimator.global_step().take(), 4);
}

TEST(EstimatorDebug, CountsTheExamplesOfTrainingOverEvaluations) {
  Estimator estimator(small_model, {.device = "cpu"});
  Watches watches;
  const Result<TrainAndEvaluateResult> result = train_and_evaluate(
      estimator,
      {.input = examples(60, training_input(6)), .max_steps = 10, .steps_between_evals = 5, .hooks = {watches}},
      {.input = examples(12, evaluation_input(6))});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(watches.last.examples, 60);
  EXPECT_GT(watches.last.device_seconds, 0);
  EXPECT_GT(watches.last.input_seconds, 0);
}

}  // namespace
}  // namespace tenon
