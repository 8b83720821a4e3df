// Callbacks and hooks around an Estimator's training: what they see, what they may do, and what is left when they fail.
#include <regex>

#include "checkpoint/tensor_file.h"
#include "tenon/callbacks.h"
#include "tenon/hooks.h"
#include "tenon/variables.h"
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

// y = w x with data y = 2 x: w' = w - rate * 5 (w - 2), loss 2.5 (w - 2)^2.
EstimatorSpec line_by_rate(const Features& features, const Tensor& labels, Mode mode, const LearningRate& rate) {
  const Tensor y = dense(features["x"], {.units = 1, .use_bias = false, .kernel_initializer = zeros()});
  EstimatorSpec spec{.mode = mode, .predictions = {{"y", y}}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = mean_squared_error(y, labels);
  if (mode == Mode::kTrain) spec.train_op = minimize(SGD({.learning_rate = rate}), spec.loss);
  return spec;
}

EstimatorSpec fixed_rate(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  return line_by_rate(features, labels, mode, 0.125);
}

EstimatorSpec variable_rate(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  const Tensor rate = variable(features["x"], "learning_rate", {}, constant_initializer(0.125), false);
  return line_by_rate(features, labels, mode, LearningRate([rate](Tensor) { return rate; }));
}

Dataset two_points(bool repeat = true, std::vector<float> y = {2, 4}) {
  const std::vector<float> x{1, 2};
  return Dataset::from_memory(
             {memory_feature<float>("x", DType::kF32, {1}, x), memory_feature<float>("label", DType::kF32, {1}, y)},
             {.batch_size = 2, .repeat = repeat})
      .take();
}

struct Order : Callback {
  std::vector<std::string> calls;
  std::string fail_at;
  void note(const std::string& what) {
    calls.push_back(what);
    if (what == fail_at) throw std::runtime_error("had to");
  }
  void on_train_begin(TrainingRun& run) override { note("train " + std::to_string(run.step())); }
  void on_epoch_begin(TrainingRun&, int epoch) override { note("epoch " + std::to_string(epoch)); }
  void on_train_batch_begin(TrainingRun&, int64_t batch) override { note("batch " + std::to_string(batch)); }
  void on_train_batch_end(TrainingRun&, int64_t batch, const Logs& logs) override {
    EXPECT_EQ(logs.count("loss"), 1u);
    note("batch ends " + std::to_string(batch));
  }
  void on_test_begin(TrainingRun&) override { note("test"); }
  void on_test_end(TrainingRun&, const Logs& logs) override { note("test ends, " + names(logs)); }
  void on_epoch_end(TrainingRun&, int, Logs& logs) override { note("epoch ends, " + names(logs)); }
  void on_train_end(TrainingRun& run, const Logs&) override { note("train ends " + std::to_string(run.step())); }
  void on_train_error(TrainingRun& run, const Status&) override { note("error " + std::to_string(run.step())); }
  static std::string names(const Logs& logs) {
    std::string out;
    for (const auto& entry : logs) out += entry.first + " ";
    return out;
  }
};

using Texts = std::vector<std::string>;

TEST(EstimatorCallbacks, ACallOfTrainIsOneEpoch) {
  Order order;
  Estimator estimator(fixed_rate, cpu("", {.iterations_per_loop = 2}));
  check(estimator.train({.input = two_points(), .steps = 3, .hooks = {order}}).status());
  EXPECT_EQ(order.calls, (Texts{"train 0", "epoch 0", "batch 0", "batch ends 1", "batch 2", "batch ends 2",
                                "epoch ends, loss ", "train ends 3"}));
}

TEST(EstimatorCallbacks, AnEpochOfTrainAndEvaluateReachesFromOneEvaluationToTheNext) {
  TemporaryDirectory dir;
  Order order;
  Estimator estimator(fixed_rate, cpu(dir.path(), {.iterations_per_loop = 2}));
  check(train_and_evaluate(estimator,
                           {.input = two_points(), .max_steps = 3, .steps_between_evals = 2, .hooks = {order}},
                           {.input = two_points(false)})
            .status());
  EXPECT_EQ(order.calls, (Texts{"train 0", "epoch 0", "batch 0", "batch ends 1", "test", "test ends, loss ",
                                "epoch ends, loss val_loss ", "epoch 1", "batch 0", "batch ends 0", "test",
                                "test ends, loss ", "epoch ends, loss val_loss ", "train ends 3"}));
}

TEST(EstimatorCallbacks, SeeLossesAndVariablesAndWriteThem) {
  Estimator estimator(fixed_rate, cpu(""));
  std::vector<double> weights;
  LambdaCallback set({.on_train_begin =
                          [](TrainingRun& run) {
                            EXPECT_EQ(run.device(), "cpu");
                            EXPECT_EQ(run.weights(), Texts{"dense/kernel"});
                            EXPECT_EQ(run.variables(), (Texts{"dense/kernel", "global_step"}));
                            EXPECT_EQ(run.steps_per_epoch(), 2);
                            run.write("dense/kernel", Array({1.0f}, {1, 1}));
                          },
                      .on_train_batch_end =
                          [&](TrainingRun& run, int64_t, const Logs&) {
                            weights.push_back(run.read("dense/kernel").item());
                            EXPECT_EQ(run.losses().size(), 1u);
                          }});
  const auto r = estimator
                     .train({.input = two_points(),
                             .steps = 2,
                             .hooks = {set, LoggingTensorHook({{"l", "loss"}}, {.every_n_iter = 1})}})
                     .take();
  EXPECT_EQ(weights, (std::vector<double>{1.625, 1.859375}));  // 1 + 0.625, 1.625 + 0.625 * 0.375
  EXPECT_EQ(r.loss, 2.5 * 0.375 * 0.375);
}

TEST(EstimatorCallbacks, MistakesWithVariablesAreNamed) {
  Estimator estimator(fixed_rate, cpu(""));
  const auto message = [&](const std::function<void(TrainingRun&)>& mistake) {
    return estimator.train({.input = two_points(), .steps = 1, .hooks = {LambdaCallback({.on_train_begin = mistake})}})
        .status()
        .message();
  };
  EXPECT_EQ(message([](TrainingRun& run) { run.read("dense/kernle"); }),
            "LambdaCallback: there is no variable 'dense/kernle'; did you mean 'dense/kernel'?");
  EXPECT_EQ(message([](TrainingRun& run) { run.write("dense/kernel", Array(1.0f)); }),
            "LambdaCallback: variable 'dense/kernel' is f32[1,1], given f32[]");
  EXPECT_EQ(message([](TrainingRun& run) { run.set_learning_rate(-1); }),
            "LambdaCallback: the learning rate is -1, expected 0 or more");
  EXPECT_EQ(message([](TrainingRun& run) { run.set_initial_epoch(1); }),
            "LambdaCallback: this training cannot begin at a later epoch");
}

TEST(EstimatorCallbacks, ACallbackThatThrowsIsNamedAndWhatWasTrainedIsSaved) {
  for (const std::string at : {"batch ends 3", "epoch ends, loss "}) {
    TemporaryDirectory dir;
    Order order;
    order.fail_at = at;
    Estimator estimator(fixed_rate, cpu(dir.path(), {.iterations_per_loop = 2}));
    const Status status = estimator.train({.input = two_points(), .steps = 4, .hooks = {order}}).status();
    EXPECT_EQ(status.message(), "Order: had to");
    EXPECT_EQ(order.calls.back(), "error 4");
    EXPECT_EQ(saved_steps(dir.path()), std::vector<int64_t>{4});
    EXPECT_EQ(Estimator(fixed_rate, cpu(dir.path())).train({.input = two_points(), .steps = 2}).take().global_step, 6);
    EXPECT_EQ(estimator.train({.input = two_points(), .max_steps = 8}).take().global_step, 8);
  }
}

TEST(EstimatorCallbacks, ACallbackThatThrowsAroundEvaluationIsNamedToo) {
  for (const std::string at : {"test", "test ends, loss ", "epoch ends, loss val_loss ", "train ends 4"}) {
    TemporaryDirectory dir;
    Order order;
    order.fail_at = at;
    Estimator estimator(fixed_rate, cpu(dir.path(), {.iterations_per_loop = 2}));
    const auto r = train_and_evaluate(
        estimator, {.input = two_points(), .max_steps = 4, .steps_between_evals = 2, .hooks = {order}},
        {.input = two_points(false)});
    EXPECT_EQ(r.status().message(), "Order: had to") << at;
    EXPECT_TRUE(order.calls.back().starts_with("error ")) << at;
    EXPECT_EQ(estimator.train({.input = two_points(), .max_steps = 5}).take().global_step, 5) << at;
  }
}

TEST(EstimatorCallbacks, AnInterruptionIsNotTheEndOfTraining) {
  TemporaryDirectory dir;
  Order order;
  bool asked = false;
  LambdaCallback ask({.on_train_batch_end = [&](TrainingRun& r, int64_t, const Logs&) { asked = r.step() >= 2; }});
  Estimator estimator(fixed_rate, cpu(dir.path(), {.iterations_per_loop = 1, .interrupted = [&] { return asked; }}));
  const auto r = estimator.train({.input = two_points(), .steps = 9, .hooks = {order, ask}});
  EXPECT_MESSAGE(r.status(), "interrupted at step 2; saved in ");
  EXPECT_EQ(order.calls.back(), "error 2");
  EXPECT_EQ(std::count(order.calls.begin(), order.calls.end(), "train ends 2"), 0);
}

TEST(EstimatorCallbacks, EarlyStoppingStopsBetweenEvaluationsAndTheBestWeightsAreSaved) {
  TemporaryDirectory dir;
  EarlyStopping stop({.patience = 2, .restore_best_weights = true});
  // Trained on y = 2 x, evaluated on y = x: the first evaluation, at w = 1.25, is the best.
  Estimator estimator(fixed_rate, cpu(dir.path()));
  const auto r =
      train_and_evaluate(estimator, {.input = two_points(), .max_steps = 9, .steps_between_evals = 1, .hooks = {stop}},
                         {.input = two_points(false, {1, 2})})
          .take();
  EXPECT_EQ(r.train.global_step, 3);
  EXPECT_EQ(stop.stopped_epoch(), 2);
  EXPECT_EQ(stop.best_epoch(), 0);
  EXPECT_EQ(stop.best(), 2.5 * 0.25 * 0.25);
  Estimator again(fixed_rate, cpu(dir.path()));
  EXPECT_EQ(again.evaluate({.input = two_points(false, {1, 2})}).take().at("loss"), 2.5 * 0.25 * 0.25);
  EXPECT_EQ(again.global_step().take(), 3);
}

TEST(EstimatorCallbacks, ALearningRateThatIsAVariableIsReducedOnAPlateau) {
  TemporaryDirectory dir;
  Estimator estimator(variable_rate, cpu(dir.path()));
  std::vector<double> rates;
  LambdaCallback see({.on_epoch_end = [&](TrainingRun& r, int, Logs&) { rates.push_back(r.learning_rate()); }});
  check(train_and_evaluate(estimator,
                           {.input = two_points(),
                            .max_steps = 3,
                            .steps_between_evals = 1,
                            .hooks = {ReduceLROnPlateau({.factor = 0.5, .patience = 1, .mode = "min"}), see}},
                           {.input = two_points(false, {1, 2})})
            .status());
  EXPECT_EQ(rates, (std::vector<double>{0.125, 0.0625, 0.03125}));
}

TEST(EstimatorCallbacks, WhatACallbackSavesLoads) {
  TemporaryDirectory dir;
  Estimator estimator(fixed_rate, cpu(""));
  LambdaCallback save({.on_train_end = [&](TrainingRun& r, const Logs&) {
    r.save(dir / "new/all");
    r.save_weights(dir / "weights");
    r.save(dir / "all.safetensors");
  }});
  check(estimator.train({.input = two_points(), .steps = 2, .hooks = {save}}).status());
  for (const char* name : {"new/all", "all.safetensors"})
    EXPECT_EQ(estimator.evaluate({.input = two_points(false), .checkpoint = dir / name}).take().at("global_step"), 2);
  Estimator other(fixed_rate, cpu(""));
  std::vector<double> weights;
  for (const std::string name : {"new/all", "weights", "all.safetensors"}) {
    LambdaCallback load(
        {.on_train_begin = [&](TrainingRun& r) { r.load(dir / name); },
         .on_train_end = [&](TrainingRun& r, const Logs&) { weights.push_back(r.read("dense/kernel").item()); }});
    check(other.train({.input = two_points(), .steps = 1, .hooks = {load}}).status());
  }
  EXPECT_EQ(weights, (std::vector<double>{1.89453125, 1.89453125, 1.89453125}));  // the third step's
  LambdaCallback none({.on_train_begin = [&](TrainingRun& r) { r.load(dir / "none"); }});
  EXPECT_MESSAGE(other.train({.input = two_points(), .steps = 1, .hooks = {none}}).status(), dir / "none");
  check(write_tensor_file(dir / "other", {{"dense/kernel", {DType::kF32, {2, 1}}, [](auto) { return Status(); }}}));
  LambdaCallback wrong({.on_train_begin = [&](TrainingRun& r) { r.load(dir / "other"); }});
  EXPECT_MESSAGE(other.train({.input = two_points(), .steps = 1, .hooks = {wrong}}).status(),
                 "/other' does not fit: its 'dense/kernel' is f32[2,1], expected f32[1,1]");
}

EstimatorSpec diverging(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  return line_by_rate(features, labels, mode, 1e30);
}

TEST(EstimatorCallbacks, ABadLossIsAnErrorUnlessACallbackIsThereForIt) {
  for (const bool hook : {false, true}) {
    TemporaryDirectory dir;
    Estimator estimator(diverging, cpu(dir.path(), {.save_checkpoints_steps = 1, .iterations_per_loop = 1}));
    Texts lines;
    estimator.set_events({.on_info = [&](const std::string& line) { lines.push_back(line); }});
    EXPECT_MESSAGE(
        estimator.train({.input = two_points(), .steps = 9, .hooks = {TerminateOnNaN({.raise_error = true})}}).status(),
        "the loss is infinite at step 2");
    const AnyCallback quiet = hook ? AnyCallback(NanTensorHook({.fail_on_nan_loss = false})) : TerminateOnNaN();
    const auto r = estimator.train({.input = two_points(), .steps = 9, .hooks = {quiet}}).take();
    EXPECT_FALSE(std::isfinite(r.loss));
    EXPECT_EQ(lines.back().ends_with(": Invalid loss, terminating training"), !hook);
  }
}

struct SaveAtError : Callback {
  std::string path;
  void on_train_error(TrainingRun& run, const Status&) override { run.save(path); }
};

TEST(EstimatorCallbacks, WhatIsSavedAfterABadLossIsNoCheckpoint) {
  TemporaryDirectory dir;
  Estimator estimator(diverging, cpu(dir.path()));
  SaveAtError save;
  save.path = dir / "last";
  EXPECT_MESSAGE(estimator.train({.input = two_points(), .steps = 9, .hooks = {save}}).status(), "the loss is");
  EXPECT_EQ(Estimator(diverging, cpu(dir.path())).global_step().take(), 0);
}

TEST(EstimatorCallbacks, HooksOfTheEstimatorWork) {
  TemporaryDirectory dir;
  Estimator estimator(fixed_rate, cpu(dir / "m"));
  Texts lines;
  estimator.set_events({.on_info = [&](const std::string& line) { lines.push_back(line); }});
  check(estimator
            .train({.input = two_points(),
                    .steps = 99,
                    .hooks = {LoggingTensorHook({{"w", "dense/kernel"}, {"l", "loss"}}, {.every_n_iter = 9}),
                              StopAtStepHook({.last_step = 3}), CheckpointSaverHook(dir / "m", {.save_steps = 2}),
                              CheckpointSaverHook(dir / "other", {.save_steps = 2})}})
            .status());
  EXPECT_EQ(lines.back(), "l = 10.0, w = [[1.25]]");
  for (const char* directory : {"m", "other"})
    EXPECT_EQ(saved_steps(dir / directory), (std::vector<int64_t>{0, 2, 3})) << directory;
  EXPECT_EQ(Estimator(fixed_rate, cpu(dir / "other")).evaluate({.input = two_points(false)}).take().at("global_step"),
            3);
}

// Lines about losses and rates, each number as #.
Texts about_losses(const Texts& lines) {
  Texts out;
  for (const std::string& line : lines)
    if (std::regex_search(line, std::regex("^((my_)?loss = |global_step/sec: )")))
      out.push_back(std::regex_replace(line, std::regex("[0-9][0-9.e+-]*"), "#"));
  return out;
}

// golden/estimator_log.txt: losses each 20 steps, by the Estimator and by a hook, up to step 41.
TEST(EstimatorCallbacks, LoggingTensorHookWritesAmongTheEstimatorsLinesWhereItsHookDoes) {
  std::ifstream file(std::string(TENON_GOLDEN) + "/estimator_log.txt");
  Texts golden, ours;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== ")) inside = line.starts_with("== train_and_evaluate");
    if (inside && line.starts_with("INFO:tensorflow:")) golden.push_back(line.substr(16));
  }
  Estimator estimator(fixed_rate, cpu("", {.log_step_count_steps = 20, .log_lines = LogLines::kEstimator}));
  estimator.set_events({.on_info = [&](const std::string& line) { ours.push_back(line); }});
  LoggingTensorHook hook({{"my_loss", "loss"}}, {.every_n_iter = 20});
  check(estimator.train({.input = two_points(), .max_steps = 60, .hooks = {hook}}).status());
  EXPECT_EQ(about_losses(ours), about_losses(golden));
  EXPECT_EQ(about_losses(ours).size(), 8u);
}

TEST(EstimatorCallbacks, StopIfNoDecreaseSeesTheEvaluations) {
  TemporaryDirectory dir;
  Estimator estimator(fixed_rate, cpu(dir.path()));
  const auto r = train_and_evaluate(estimator,
                                    {.input = two_points(),
                                     .max_steps = 20,
                                     .steps_between_evals = 2,
                                     .hooks = {stop_if_no_decrease_hook("loss", 4)}},
                                    {.input = two_points(false, {1, 2})})
                     .take();
  EXPECT_EQ(r.train.global_step, 6);
}

// As one that is given to one call: evaluations are read from model_dir/eval.
TEST(EstimatorCallbacks, StopIfNoDecreaseOfANewEstimatorKnowsWhatWasEvaluatedBefore) {
  TemporaryDirectory dir;
  const auto go_on_to = [&](int64_t max_steps) {
    Estimator estimator(fixed_rate, cpu(dir.path()));
    return train_and_evaluate(estimator,
                              {.input = two_points(),
                               .max_steps = max_steps,
                               .steps_between_evals = 2,
                               .hooks = {stop_if_no_decrease_hook("loss", 4)}},
                              {.input = two_points(false, {1, 2})})
        .take()
        .train.global_step;
  };
  EXPECT_EQ(go_on_to(4), 4);
  EXPECT_EQ(go_on_to(20), 6);
  EXPECT_EQ(go_on_to(20), 6);  // had enough
}

// The device is closed between the calls, and what was written before comes back with it.
TEST(EstimatorCallbacks, WithTheEstimatorsLogVariablesAreOutOfReachWhileTheDeviceIsClosed) {
  TemporaryDirectory dir;
  Estimator estimator(fixed_rate, cpu(dir.path(), {.log_lines = LogLines::kEstimator}));
  const auto train = [&](LambdaCallbackOptions options) {
    return train_and_evaluate(estimator, {.input = two_points(), .max_steps = 1, .hooks = {LambdaCallback(options)}},
                              {.input = two_points(false)});
  };
  EXPECT_EQ(train({.on_epoch_end = [](TrainingRun& r, int, Logs&) { r.read("dense/kernel"); }}).status().message(),
            "LambdaCallback: variables cannot be reached while the device is closed, as it is between calls with "
            "LogLines::kEstimator");
}

EstimatorSpec falling_rate(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  return line_by_rate(features, labels, mode, ExponentialDecay(0.125, 1, 0.5));
}

// w is 0, and after steps with rates 0.125 and 0.0625 2 - 2 * 0.375 * 0.6875.
TEST(EstimatorCallbacks, ReadAndSetTheRateThatTheModelFunctionGaveAsANumber) {
  Estimator estimator(fixed_rate, cpu(""));
  std::vector<double> rates;
  LambdaCallback halve({.on_train_batch_begin = [&](TrainingRun& run, int64_t) {
    rates.push_back(run.learning_rate());
    if (rates.size() > 1) run.set_learning_rate(run.learning_rate() / 2);
  }});
  double weight = 0;
  LambdaCallback see({.on_train_batch_end = [&](TrainingRun& run, int64_t, const Logs&) {
    weight = run.read("dense/kernel").item();
    EXPECT_EQ(run.variables(), (Texts{"dense/kernel", "global_step"}));
  }});
  check(estimator.train({.input = two_points(), .steps = 2, .hooks = {halve, see, StepCounterHook({.every_n_steps = 1})}})
            .status());
  EXPECT_EQ(rates, (std::vector<double>{0.125, 0.125}));
  EXPECT_EQ(weight, 2 - 2 * 0.375 * 0.6875);
  EXPECT_EQ(Estimator(falling_rate, cpu(""))
                .train({.input = two_points(), .steps = 1, .hooks = {halve}})
                .status()
                .message(),
            "LambdaCallback: the learning rate is what a schedule of the model function gives in each step, and can be "
            "neither read nor set");
}

// Two epochs of one step each, at rates 0.1 and 0.05, take the loss from 10 to 2.5 and 1.406 at evaluation.
TEST(EstimatorCallbacks, KerasRateCallbacksTrainAnEstimatorsModel) {
  TemporaryDirectory dir;
  Estimator estimator(fixed_rate, cpu(dir.path()));
  std::vector<double> rates, losses;
  LambdaCallback see({.on_epoch_end = [&](TrainingRun&, int, Logs& logs) {
    rates.push_back(logs.at("learning_rate")), losses.push_back(logs.at("val_loss"));
  }});
  auto schedule = LearningRateScheduler([](int epoch) { return epoch == 0 ? 0.1 : 0.05; });
  check(train_and_evaluate(estimator,
                           {.input = two_points(), .max_steps = 2, .steps_between_evals = 1, .hooks = {schedule, see}},
                           {.input = two_points(false)})
            .status());
  ASSERT_EQ(rates.size(), 2u);
  EXPECT_FLOAT_EQ(static_cast<float>(rates[1]), 0.05f);
  EXPECT_NEAR(losses[0], 2.5, 1e-5);      // w = 1
  EXPECT_NEAR(losses[1], 1.40625, 1e-5);  // w = 1.25

  // Evaluations that get no better halve it after each: 0.125 * 0.5 once it waited one epoch.
  TemporaryDirectory other;
  Estimator plateau(fixed_rate, cpu(other.path()));
  std::vector<double> next;
  LambdaCallback note({.on_epoch_end = [&](TrainingRun& run, int, Logs&) { next.push_back(run.learning_rate()); }});
  auto reduce =
      ReduceLROnPlateau({.monitor = "val_loss", .factor = 0.5, .patience = 1, .min_delta = 1e9});
  check(train_and_evaluate(
            plateau,
            {.input = two_points(), .max_steps = 3, .steps_between_evals = 1, .hooks = {reduce, note}},
            {.input = two_points(false)})
            .status());
  EXPECT_EQ(next, (std::vector<double>{0.125, 0.0625, 0.03125}));
}

// w, and the distance of the first prediction from its target, which is 2 - w, as the model function names them.
EstimatorSpec watched_line(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  EstimatorSpec spec = fixed_rate(features, labels, mode, params);
  if (mode != Mode::kTrain) return spec;
  const Tensor error = labels - spec.predictions[0].second;
  spec.training_tensors = {{"distance", reduce_sum(slice(error, {0, 0}, {1, 1}, {}))},
                           {"far", cast(compare(spec.loss, scalar_like(spec.loss, 2), CompareKind::kGt), DType::kI32)}};
  return spec;
}

// w is 0, 1.25 and 1.71875 before the steps; losses 2.5 (w - 2)^2.
TEST(EstimatorCallbacks, SeeTheTensorsThatTheModelFunctionNames) {
  Estimator estimator(watched_line, cpu("", {.log_step_count_steps = 1, .iterations_per_loop = 2}));
  std::vector<std::string> lines;
  std::vector<Logs> logged, means;
  RunEvents events = console_events();
  events.on_info = [&](const std::string& line) { lines.push_back(line); };
  events.on_log_tensors = [&](int64_t, const Logs& values) { logged.push_back(values); };
  events.on_log = [](int64_t, double, double) {};
  estimator.set_events(events);
  std::vector<float> distances;
  LambdaCallback see({.on_train_batch_end = [&](TrainingRun& run, int64_t, const Logs& logs) {
    EXPECT_EQ(run.tensors(), (Texts{"distance", "far"}));
    const auto values = run.values("distance");
    distances.insert(distances.end(), values.begin(), values.end());
    EXPECT_TRUE(run.values("else").empty());
    means.push_back(logs);
  }});
  LoggingTensorHook show({{"d", "distance"}, {"l", "loss"}}, {.every_n_iter = 1});
  check(estimator.train({.input = two_points(), .steps = 3, .hooks = {see, show}}).status());
  EXPECT_EQ(distances, (std::vector<float>{2, 0.75f, 0.28125f}));
  EXPECT_EQ(means.back().at("far"), 1.0 / 3);
  EXPECT_EQ(means.back().at("distance"), (2 + 0.75 + 0.28125) / 3);
  EXPECT_EQ(logged.back(), (Logs{{"distance", 0.28125}, {"far", 0}}));
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const auto& l) { return l.starts_with("d = 2.0, l = 10.0"); }));
}

TEST(EstimatorCallbacks, ATensorToBeLookedAtIsANumberOfAStep) {
  const auto message = [](const std::string& name, bool scalar) {
    const ModelFn model = [=](const Features& features, const Tensor& labels, Mode mode, const Params& params) {
      EstimatorSpec spec = fixed_rate(features, labels, mode, params);
      spec.training_tensors = {{name, scalar ? spec.loss : labels}};
      return spec;
    };
    return Estimator(model, cpu("")).train({.input = two_points(), .steps = 1}).status().message();
  };
  EXPECT_NE(message("loss", true).find("training tensor 'loss': expected another name"), std::string::npos);
  EXPECT_NE(message("y", false).find("training tensor 'y' is f32[2,1], expected rank 0"), std::string::npos);
}

TEST(EstimatorCallbacks, AreCalledByEvaluationAndPrediction) {
  TemporaryDirectory dir;
  Estimator estimator(fixed_rate, cpu(dir.path(), {.iterations_per_loop = 1}));
  check(estimator.train({.input = two_points(), .steps = 1}).status());  // w = 1.25
  const Dataset four = Dataset::from_memory({memory_feature<float>("x", DType::kF32, {1}, std::vector<float>{1, 2, 0, 0}),
                                             memory_feature<float>("label", DType::kF32, {1}, std::vector<float>{2, 4, 2, 2})},
                                            {.batch_size = 2})
                           .take();
  std::string seen;
  std::vector<double> losses;
  LambdaCallback note({.on_test_begin = [&](TrainingRun& run) { seen += "test " + std::to_string(run.steps_per_epoch()) + " "; },
                       .on_test_end = [&](TrainingRun&, const Logs& logs) { seen += "end ", losses.push_back(logs.at("loss")); },
                       .on_test_batch_begin = [&](TrainingRun&, int64_t batch) { seen += "(" + std::to_string(batch); },
                       .on_test_batch_end =
                           [&](TrainingRun& run, int64_t batch, const Logs& logs) {
                             seen += std::to_string(batch) + ") ";
                             losses.push_back(logs.at("loss"));
                             EXPECT_EQ(run.read("dense/kernel").item(), 1.25);
                             EXPECT_EQ(run.weights(), Texts{"dense/kernel"});
                             EXPECT_EQ(run.step(), 1);
                           },
                       .on_predict_begin = [&](TrainingRun&) { seen += "predict "; },
                       .on_predict_end = [&](TrainingRun&) { seen += "end"; },
                       .on_predict_batch_begin = [&](TrainingRun&, int64_t batch) { seen += "(" + std::to_string(batch); },
                       .on_predict_batch_end =
                           [&](TrainingRun&, int64_t batch) { seen += std::to_string(batch) + ") "; }});
  check(estimator.evaluate({.input = four, .hooks = {note}}).status());
  check(estimator.predict(four, [](int64_t, const auto&) { return Status(); }, {}, 0, {note}));
  EXPECT_EQ(seen, "test 2 (00) (11) end predict (00) (11) end");
  EXPECT_EQ(losses, (std::vector<double>{1.40625, (1.40625 + 4) / 2, (1.40625 + 4) / 2}));

  LambdaCallback wrong({.on_test_begin = [](TrainingRun& run) { run.set_learning_rate(1); }});
  EXPECT_EQ(estimator.evaluate({.input = four, .hooks = {wrong}}).status().message(),
            "LambdaCallback: there is no learning rate in evaluation of an Estimator");
  LambdaCallback stop({.on_test_batch_end = [](TrainingRun& run, int64_t, const Logs&) { run.stop(); }});
  EXPECT_EQ(estimator.evaluate({.input = four, .hooks = {stop}}).take().examples, 2);
}

}  // namespace
}  // namespace tenon
