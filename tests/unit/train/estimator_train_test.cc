// Training as a user sees it: what is computed, saved, said and called.
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

// y = w x, one weight, mean squared error.
EstimatorSpec line(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  const Tensor y = dense(features["x"], {.units = 1, .use_bias = false, .kernel_initializer = zeros()});
  EstimatorSpec spec{.mode = mode, .predictions = {{"y", y}}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = mean_squared_error(labels, y);
  if (mode == Mode::kTrain) spec.train_op = minimize(SGD({.learning_rate = 0.125}), spec.loss);
  return spec;
}

Dataset line_data(bool repeat) {
  const std::vector<float> x{1, 2}, y{2, 4};
  return Dataset::from_memory(
             {memory_feature<float>("x", DType::kF32, {1}, x), memory_feature<float>("label", DType::kF32, {1}, y)},
             {.batch_size = 2, .repeat = repeat})
      .take();
}

// w' = w - 0.125 * mean(2 x (w x - y)) = w - 0.125 * 5 (w - 2): 0, 1.25, 1.71875, 1.89453125.
TEST(EstimatorTrain, StepsOfGradientDescentAreThoseDoneByHand) {
  Estimator estimator(line, cpu(""));
  double w = 0;
  for (int step = 0; step < 3; ++step) {
    const TrainResult r = estimator.train({.input = line_data(true), .steps = 1}).take();
    EXPECT_EQ(r.global_step, step + 1);
    EXPECT_FLOAT_EQ(static_cast<float>(r.loss), static_cast<float>(2.5 * (w - 2) * (w - 2)));
    w -= 0.125 * 5 * (w - 2);
  }
  std::vector<float> y;
  check(estimator.predict(line_data(false), [&](int64_t, const auto& values) {
    y.push_back(values.at("y")[0]);
    return Status();
  }));
  EXPECT_EQ(y, (std::vector<float>{1.89453125f, 3.7890625f}));
}

TEST(EstimatorTrain, WithoutALimitItTrainsToTheEndOfTheInput) {
  Estimator estimator(small_model, cpu(""));
  EXPECT_EQ(estimator.train({.input = examples(10, evaluation_input(4))}).take().global_step, 2);
}

TEST(EstimatorTrain, StepsCountFromWhereItStandsAndMaxStepsFromTheStart) {
  TemporaryDirectory dir;
  Estimator estimator(small_model, cpu(dir.path()));
  const Dataset data = examples(12, training_input(4));
  EXPECT_EQ(estimator.train({.input = data, .steps = 5}).take().global_step, 5);
  EXPECT_EQ(estimator.train({.input = data, .steps = 5}).take().global_step, 10);
  EXPECT_EQ(estimator.train({.input = data, .max_steps = 12}).take().global_step, 12);
  EXPECT_EQ(estimator.global_step().take(), 12);
  EXPECT_EQ(Estimator(small_model, cpu(dir.path())).global_step().take(), 12);
}

TEST(EstimatorTrain, ReachedMaxStepsSkipsTrainingAndSavesNothing) {
  TemporaryDirectory dir;
  const Dataset data = examples(12, training_input(4));
  check(Estimator(small_model, cpu(dir.path())).train({.input = data, .max_steps = 6}).status());
  Estimator again(small_model, cpu(dir.path()));
  std::string said;
  int saved = 0;
  again.set_events({.on_checkpoint = [&](int64_t, const std::string&) { ++saved; },
                    .on_info = [&](const std::string& line) { said += line + "\n"; }});
  EXPECT_EQ(again.train({.input = data, .max_steps = 6}).take().global_step, 6);
  EXPECT_NE(said.find("skipping training"), std::string::npos) << said;
  EXPECT_EQ(saved, 0);
}

TEST(EstimatorTrain, SavesEverySoManyStepsAndAtTheEnd) {
  TemporaryDirectory dir;
  Estimator estimator(small_model, cpu(dir.path(), {.save_checkpoints_steps = 5}));
  std::vector<int64_t> steps;
  estimator.set_events({.on_checkpoint = [&](int64_t step, const std::string& path) {
    steps.push_back(step);
    EXPECT_EQ(path, dir / ("model.ckpt-" + std::to_string(step)));
  }});
  check(estimator.train({.input = examples(12, training_input(4)), .max_steps = 12}).status());
  EXPECT_EQ(steps, (std::vector<int64_t>{5, 10, 12}));
  EXPECT_EQ(saved_steps(dir.path()), steps);
}

TEST(EstimatorTrain, KeepsTheNewestCheckpointsAndAllWithZero) {
  for (const auto& [keep, expected] : {std::pair{3, std::vector<int64_t>{6, 7, 8}}, {0, {1, 2, 3, 4, 5, 6, 7, 8}}}) {
    TemporaryDirectory dir;
    Estimator estimator(small_model, cpu(dir.path(), {.save_checkpoints_steps = 1, .keep_checkpoint_max = keep}));
    check(estimator.train({.input = examples(12, training_input(4)), .max_steps = 8}).status());
    EXPECT_EQ(saved_steps(dir.path()), expected);
  }
}

TEST(EstimatorTrain, LogsTheLossWhenItIsDue) {
  Estimator estimator(small_model, cpu("", {.log_step_count_steps = 4}));
  std::vector<int64_t> steps;
  estimator.set_events({.on_log = [&](int64_t step, double loss, double rate) {
    steps.push_back(step);
    EXPECT_GT(loss, 0);
    EXPECT_GT(rate, 0);
  }});
  check(estimator.train({.input = examples(12, training_input(4)), .max_steps = 10}).status());
  EXPECT_EQ(steps, (std::vector<int64_t>{4, 8, 10}));  // and at the end
}

struct RecordingHook : TrainingHook {
  int64_t stop_at = INT64_MAX, began = -1, ended = -1, step = 0;
  std::vector<float> losses;
  std::function<void()> during = [] {};
  void begin(int64_t at) override { began = at; }
  bool after_run(int64_t at, std::span<const float> more) override {
    losses.insert(losses.end(), more.begin(), more.end());
    EXPECT_EQ(static_cast<int64_t>(losses.size()), at - began);
    during();
    return (step = at) < stop_at;
  }
  void end(int64_t at) override { ended = at; }
};

TEST(EstimatorTrain, HooksSeeEveryLossFromBeginningToEnd) {
  Estimator estimator(small_model, cpu(""));
  RecordingHook hook;
  const TrainResult r =
      estimator.train({.input = examples(12, training_input(4)), .max_steps = 9, .hooks = {&hook}}).take();
  EXPECT_EQ(hook.began, 0);
  EXPECT_EQ(hook.ended, 9);
  ASSERT_EQ(hook.losses.size(), 9u);
  EXPECT_EQ(hook.losses.back(), static_cast<float>(r.loss));
}

TEST(EstimatorTrain, AHookStopsTrainingAndTheStateIsSaved) {
  TemporaryDirectory dir;
  Estimator estimator(small_model, cpu(dir.path(), {.iterations_per_loop = 2}));
  RecordingHook hook;
  hook.stop_at = 4;
  EXPECT_EQ(
      estimator.train({.input = examples(12, training_input(4)), .max_steps = 99, .hooks = {&hook}}).take().global_step,
      4);
  EXPECT_EQ(saved_steps(dir.path()), std::vector<int64_t>{4});
}

TEST(EstimatorTrain, AnInterruptionSavesAndIsAnError) {
  TemporaryDirectory dir;
  bool asked = false;
  RecordingHook hook;
  hook.during = [&] { asked = hook.losses.size() >= 6; };
  Estimator estimator(small_model, cpu(dir.path(), {.iterations_per_loop = 2, .interrupted = [&] { return asked; }}));
  const auto r = estimator.train({.input = examples(12, training_input(4)), .max_steps = 99, .hooks = {&hook}});
  EXPECT_EQ(r.status().code(), Code::kInterrupted);
  EXPECT_MESSAGE(r.status(), "interrupted at step 6");
  EXPECT_EQ(saved_steps(dir.path()), std::vector<int64_t>{6});
}

// Asked before the call, then before each of its batches but the first: the fourth answer comes after three steps.
TEST(EstimatorTrain, AnInterruptionEndsACallOfTheDeviceAtItsNextStep) {
  TemporaryDirectory dir, whole;
  const Dataset data = examples(12, training_input(4));
  int n = 0;
  Estimator estimator(small_model,
                      cpu(dir.path(), {.iterations_per_loop = 100, .interrupted = [&] { return ++n >= 4; }}));
  RecordingHook hook;
  const auto r = estimator.train({.input = data, .max_steps = 100, .hooks = {&hook}});
  EXPECT_EQ(r.status().code(), Code::kInterrupted);
  EXPECT_MESSAGE(r.status(), "interrupted at step 3; saved in " + dir.path());
  EXPECT_EQ(saved_steps(dir.path()), std::vector<int64_t>{3});
  EXPECT_EQ(hook.losses.size(), 3u);
  EXPECT_EQ(hook.ended, 3);
  // It goes on as if nothing had happened.
  Estimator next(small_model, cpu(dir.path())), other(small_model, cpu(whole.path()));
  check(next.train({.input = data, .max_steps = 10}).status());
  check(other.train({.input = data, .max_steps = 10}).status());
  EXPECT_EQ(next.variables_hash().take(), other.variables_hash().take());
}

TEST(EstimatorTrain, AnInterruptionBeforeTheFirstStepSaysThatNothingIsSaved) {
  TemporaryDirectory dir;
  Estimator estimator(small_model, cpu(dir.path(), {.interrupted = [] { return true; }}));
  const auto r = estimator.train({.input = examples(12, training_input(4)), .max_steps = 9});
  EXPECT_EQ(r.status().code(), Code::kInterrupted);
  EXPECT_MESSAGE(r.status(), "interrupted at step 0; no step was done, nothing is saved");
  EXPECT_TRUE(saved_steps(dir.path()).empty());
}

// Another trainer may have the directory that has its name by now.
TEST(EstimatorTrain, ADirectoryThatWasRenamedIsNotWrittenBehind) {
  TemporaryDirectory dir;
  const std::string path = dir / "model";
  RecordingHook hook;
  hook.during = [&] {
    if (hook.losses.size() == 6) {
      ASSERT_EQ(std::rename(path.c_str(), (dir / "moved").c_str()), 0);
      ASSERT_EQ(::mkdir(path.c_str(), 0777), 0);
    }
  };
  Estimator estimator(small_model, cpu(path, {.save_checkpoints_steps = 4, .iterations_per_loop = 2}));
  const auto r = estimator.train({.input = examples(12, training_input(4)), .max_steps = 20, .hooks = {&hook}});
  EXPECT_EQ(r.status().message(), "model directory '" + path + "' was renamed or removed while it was in use");
  EXPECT_EQ(saved_steps(dir / "moved"), std::vector<int64_t>{4});
  EXPECT_TRUE(saved_steps(path).empty());
}

TEST(EstimatorTrain, AnInterruptionThatIsTakenBackIsNotTheEndOfTheInput) {
  int n = 0;
  Estimator estimator(small_model, cpu("", {.iterations_per_loop = 100, .interrupted = [&] { return ++n == 4; }}));
  const auto r = estimator.train({.input = examples(12, training_input(4)), .max_steps = 100});
  EXPECT_EQ(r.status().message(), "interrupted at step 3");
}

TEST(EstimatorTrain, ASecondTrainerOfADirectoryIsRefused) {
  TemporaryDirectory dir;
  const Dataset data = examples(12, training_input(4));
  Status second;
  RecordingHook hook;
  hook.during = [&] {
    second = Estimator(small_model, cpu(dir.path())).train({.input = data, .max_steps = 3}).status();
  };
  Estimator first(small_model, cpu(dir.path(), {.iterations_per_loop = 4}));
  check(first.train({.input = data, .max_steps = 4, .hooks = {&hook}}).status());
  EXPECT_FALSE(second.ok());
  EXPECT_MESSAGE(second, dir.path());
  EXPECT_EQ(saved_steps(dir.path()), std::vector<int64_t>{4});
}

TEST(EstimatorTrain, TrainAndEvaluateEvaluatesAtEachInterval) {
  TemporaryDirectory dir;
  Estimator estimator(small_model, cpu(dir.path()));
  std::vector<int64_t> evaluated;
  estimator.set_events({.on_evaluate = [&](int64_t step, const EvalResult&) { evaluated.push_back(step); }});
  const auto r = train_and_evaluate(
                     estimator, {.input = examples(12, training_input(4)), .max_steps = 10, .steps_between_evals = 4},
                     {.input = examples(12, evaluation_input(5))})
                     .take();
  EXPECT_EQ(evaluated, (std::vector<int64_t>{4, 8, 10}));
  EXPECT_EQ(r.train.global_step, 10);
  EXPECT_EQ(r.eval.at("global_step"), 10);
}

TEST(EstimatorTrain, CountsParameters) {
  Estimator estimator(small_model, cpu(""));
  const auto count = estimator.count_parameters(examples(12, training_input(4))).take();
  EXPECT_EQ(count.trainable, 4 * 8 + 8 + 8 * 3 + 3);
  EXPECT_EQ(count.total, count.trainable);
}

}  // namespace
}  // namespace tenon
