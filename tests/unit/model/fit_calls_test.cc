// What callbacks see of fit, evaluate and predict, and what they may call.
#include <gtest/gtest.h>

#include <limits>
#include <regex>

#include "tenon/callbacks.h"
#include "tenon/metrics.h"
#include "tenon/variables.h"
#include "unit/data/temporary_directory.h"
#include "unit/model/fit_testing.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

using namespace model_testing;

// Each call within a callback has a place of its own in the data, the same data too.
TEST(Fit, AndEvaluateWithinACallbackLeaveTheCallAroundThemWhereItIs) {
  struct Nests : Callback {
    explicit Nests(std::function<void()> call) : nested(std::move(call)) {}
    void on_train_batch_end(TrainingRun&, int64_t batch, const Logs&) override { nest(batch); }
    void on_test_batch_end(TrainingRun&, int64_t batch, const Logs&) override { nest(batch); }
    void nest(int64_t batch) {
      if (nesting) return;
      batches.push_back(batch);
      if (batches.size() > 9) throw std::runtime_error("this does not end");
      nesting = true;
      nested();
      nesting = false;
    }
    std::function<void()> nested;
    bool nesting = false;
    std::vector<int64_t> batches;
  };
  Sequential model = regularized();
  model.compile(sgd(0));
  const Dataset data = batches_of_six();
  const double all = model.evaluate(data, {.verbose = Verbose::kSilent}).at("loss");
  Nests evaluates([&] { model.evaluate(data, {.verbose = Verbose::kSilent}); });
  EXPECT_EQ(model.evaluate(data, {.verbose = Verbose::kSilent, .callbacks = {evaluates}}).at("loss"), all);
  EXPECT_EQ(evaluates.batches, (std::vector<int64_t>{0, 1, 2, 3}));
  for (const bool same : {true, false}) {
    Nests fits([&] { same ? model.fit(data, epochs(1)) : model.fit(first_input(), labels(), epochs(1)); });
    FitOptions fit = epochs(2);
    fit.callbacks = {fits};
    EXPECT_NEAR(model.fit(data, fit)["loss"][1], all, kTolerance);
    EXPECT_EQ(fits.batches, (std::vector<int64_t>{0, 1, 2, 3, 0, 1, 2, 3}));
  }
}

// Keras's: on_train_batch_begin has the first batch of an execution, on_train_batch_end the last.
TEST(Fit, BeginsNoBatchThatIsNotThere) {
  struct Begins : Callback {
    void on_train_batch_begin(TrainingRun&, int64_t batch) override { seen += "(" + std::to_string(batch); }
    void on_train_batch_end(TrainingRun&, int64_t batch, const Logs&) override { seen += std::to_string(batch) + ")"; }
    std::string seen;
  };
  const auto seen = [](int steps_per_execution, int64_t rows, int64_t steps_per_epoch) {
    Sequential model = regularized();
    CompileOptions options = sgd(0.1);
    options.steps_per_execution = steps_per_execution;
    model.compile(options);
    Begins begins;
    FitOptions fit = epochs(2);
    fit.batch_size = 8;
    fit.callbacks = {begins};
    fit.steps_per_epoch = steps_per_epoch;
    model.fit(first_input().rows(0, rows), labels().rows(0, rows), fit);
    return begins.seen;
  };
  EXPECT_EQ(seen(1, 24, 0), "(00)(11)(22)(00)(11)(22)");
  EXPECT_EQ(seen(1, 20, 0), "(00)(11)(22)(00)(11)(22)");
  EXPECT_EQ(seen(2, 24, 0), "(01)(22)(01)(22)");
  EXPECT_EQ(seen(1, 24, 3), "(00)(11)(22)(00)(11)(22)");
  EXPECT_EQ(seen(1, 24, 2), "(00)(11)(00)");  // the data end
}

// The number of updates that the backup is of, and that a file is of, is the run's.
TEST(FitCalls, CountStepsFromWhatWasLoaded) {
  const TemporaryDirectory directory;
  struct Steps : Callback {
    explicit Steps(int last) : last_epoch(last) {}
    void on_epoch_begin(TrainingRun& run, int epoch) override {
      steps.push_back(run.step());
      if (epoch == last_epoch) throw std::runtime_error("power is gone");
    }
    int last_epoch;
    std::vector<int64_t> steps;
  };
  Steps first(2), second(-1);
  for (Steps* steps : {&first, &second}) {
    Sequential model = regularized();
    model.compile(sgd(0.1));
    FitOptions fit = epochs(4);  // of three batches
    fit.callbacks = {BackupAndRestore(directory / "backup"), steps};
    message_of([&] { model.fit(first_input(), labels(), fit); });
  }
  EXPECT_EQ(first.steps, (std::vector<int64_t>{0, 3, 6}));
  EXPECT_EQ(second.steps, (std::vector<int64_t>{6, 9}));
  struct Loads : Callback {
    explicit Loads(std::string p) : path(std::move(p)) {}
    void on_epoch_end(TrainingRun& run, int epoch, Logs&) override {
      if (epoch == 0) run.save(path);
      if (epoch == 1) run.load(path);
      steps = run.step();
    }
    std::string path;
    int64_t steps = 0;
  };
  Sequential model = regularized();
  model.compile(sgd(0.1));
  Loads loads(directory / "file");
  FitOptions fit = epochs(2);
  fit.callbacks = {loads};
  model.fit(first_input(), labels(), fit);
  EXPECT_EQ(loads.steps, 3);
}

// ExponentialDecay: 0.1 0.5^(step / 3).
TEST(FitCalls, ReadTheRateOfAScheduleBeforeTheFirstStep) {
  Sequential model = regularized();
  CompileOptions options = sgd(0.1);
  options.optimizer = SGD(ExponentialDecay(0.1, 3, 0.5));
  model.compile(options);
  std::vector<double> rates;
  FitOptions fit = epochs(2);
  const auto note = [&](TrainingRun& run) { rates.push_back(run.learning_rate()); };
  fit.callbacks = {LambdaCallback({.on_train_begin = note,
                                   .on_train_end = [&](TrainingRun& run, const Logs&) { note(run); },
                                   .on_epoch_end = [&](TrainingRun& run, int, Logs&) { note(run); }})};
  model.fit(first_input(), labels(), fit);
  expect_near(rates, {0.1, 0.05, 0.025, 0.025});
  fit.callbacks = {LearningRateScheduler([](int, double rate) { return rate / 2; })};
  EXPECT_EQ(message_of([&] { model.fit(first_input(), labels(), fit); }),
            "LearningRateScheduler: the learning rate is a schedule, and cannot be set");
}

TEST(FitCalls, NameWhatThrows) {
  const auto fitted = [](Sequential model, CompileOptions options, Callbacks callbacks = {}) {
    return message_of([&] {
      options.strategy = Strategy("cpu");
      model.compile(options);
      FitOptions fit = epochs(1);
      fit.callbacks = std::move(callbacks);
      model.fit(first_input(), Array(pattern(kExamples, 3, 7, 3, 4), {kExamples, 1}), fit);
    });
  };
  const auto plain = [] { return Sequential({Dense(dense_of(1, "out"))}); };
  struct Allows : Callback {
    int64_t most_steps(int64_t) const override { throw std::runtime_error("no steps"); }
  };
  EXPECT_EQ(fitted(plain(), {.loss = "mse"}, {Allows()}), "Allows: no steps");
  const auto throws = [](const Tensors&) -> Tensor { throw std::out_of_range("oops"); };
  EXPECT_EQ(fitted(Sequential({Dense(dense_of(1)), Lambda(throws, "mine")}), {.loss = "mse"}),
            "layer 'mine' threw: oops");
  const Loss loss = [](Tensor, Tensor) -> Tensor { throw std::runtime_error("no loss"); };
  EXPECT_EQ(fitted(plain(), {.loss = loss}),
            "the model's output 'out', f32[10,1] for targets f32[10,1], by 'loss': no loss");
  const Metric traced("mine", [](Tensor, Tensor, Tensor) -> MetricOp { throw std::runtime_error("no metric"); });
  EXPECT_EQ(fitted(plain(), {.loss = "mse", .metrics = {traced}}),
            "the model's output 'out', f32[10,1] for targets f32[10,1], by 'mine': no metric");
  const Metric late("late", [](Tensor y, Tensor p, Tensor) {
    return MetricOp({reduce_sum(y - p)}, [](const MetricOp::Sums&) -> double { throw std::runtime_error("no value"); });
  });
  EXPECT_EQ(fitted(plain(), {.loss = "mse", .metrics = {late}}), "metric 'late' threw: no value");
  const auto update = [](Update&) { throw std::runtime_error("no update"); };
  EXPECT_EQ(fitted(plain(), {.optimizer = CustomOptimizer({.name = "lazy", .update = update}), .loss = "mse"}),
            "lazy: the update of 'out/kernel' threw: no update");
  const LearningRate rate([](Tensor) -> Tensor { throw std::runtime_error("no rate"); });
  EXPECT_EQ(fitted(plain(), {.optimizer = SGD(rate), .loss = "mse"}), "the learning rate schedule threw: no rate");
}

// Three batches of 8 and one of 4, two of which one call takes.
TEST(FitCalls, OfPredictTakeSeveralBatchesEach) {
  Sequential model = regularized();
  model.compile(sgd(0.1));
  const Array x(pattern(28 * 4, 7, 11, 5, 4), {28, 4});
  const std::vector<float> expected = model.predict(x, {.batch_size = 8})[0].to<float>();
  struct Counts : Callback {
    void on_predict_batch_end(TrainingRun&, int64_t batch) override { batches.push_back(batch); }
    std::vector<int64_t> batches;
  };
  for (const bool bounded : {false, true}) {
    CompileOptions options = sgd(0.1);
    options.steps_per_execution = 2;
    options.bounded_batch = bounded;
    options.strategy = model.strategy();
    model.compile(options);
    Counts counts, some;
    EXPECT_EQ(model.predict(x, {.batch_size = 8, .callbacks = {counts}})[0].to<float>(), expected);
    EXPECT_EQ(counts.batches, (std::vector<int64_t>{1, 2, 3}));
    const Array three = model.predict(x, {.batch_size = 8, .steps = 3, .callbacks = {some}})[0];
    EXPECT_EQ(three.shape(), (Shape{24, 3}));
    EXPECT_EQ(some.batches, (std::vector<int64_t>{1, 2}));
    const Array batch = model.predict_on_batch(x.rows(0, 8))[0];
    EXPECT_EQ(batch.to<float>(), std::vector<float>(expected.begin(), expected.begin() + 24));
    EXPECT_EQ(batch.shape(), (Shape{8, 3}));
  }
}

TEST(FitCalls, SayWhatCallbacksAreAskedForWhereFitIsSilent) {
  Sequential model = regularized();
  model.compile(sgd(0.1));
  FitOptions fit = epochs(1);
  for (const int verbose : {1, 0}) {
    fit.callbacks = {LearningRateScheduler([](int) { return 0.25; }, {.verbose = verbose})};
    testing::internal::CaptureStderr();
    model.fit(first_input(), labels(), fit);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              verbose ? "\nEpoch 1: LearningRateScheduler setting learning rate to 0.25.\n" : "");
  }
}

TEST(FitCalls, ShowALossThatIsNoNumberWithoutASign) {
  Sequential model({Dense(dense_of(1))});
  model.compile({.optimizer = SGD(0),
                 .loss = [](Tensor, Tensor p) { return reduce_sum(p) * -std::numeric_limits<double>::quiet_NaN(); },
                 .strategy = Strategy("cpu")});
  FitOptions fit = epochs(1);
  fit.verbose = Verbose::kLine;
  testing::internal::CaptureStdout();
  model.fit(first_input(), labels(), fit);
  const std::string line = testing::internal::GetCapturedStdout();
  EXPECT_NE(line.find(" - loss: nan\n"), std::string::npos) << line;
}

// What it prints, with "_" for times.
template <class Call>
std::string printed_without_times(const Call& call) {
  testing::internal::CaptureStdout();
  call();
  return std::regex_replace(testing::internal::GetCapturedStdout(), std::regex("[0-9]+(m|u)?s"), "_");
}

// Keras's, of verbose=2; the one that is given draws in the place of fit's own, and before callbacks that are behind it.
TEST(FitCalls, DrawTheBarThatIsGiven) {
  Sequential model = regularized();
  model.compile(sgd(0));
  ProgbarLogger bar(Verbose::kLine);
  FitOptions fit = epochs(2);
  fit.callbacks = {LambdaCallback({.on_epoch_end =
                                       [](TrainingRun&, int, Logs& logs) {
                                         logs = {{"before", 0.5}};
                                       }}),
                   bar, LambdaCallback({.on_epoch_end = [](TrainingRun&, int, Logs& logs) { logs["behind"] = 1; }})};
  const std::string expected =
      "Epoch 1/2\n3/3 - _ - _/step - before: 0.5000\n"
      "Epoch 2/2\n3/3 - _ - _/step - before: 0.5000\n";
  for (const Verbose own : {Verbose::kSilent, Verbose::kLine}) {
    fit.verbose = own;
    const std::string found = printed_without_times([&] { model.fit(first_input(), labels(), fit); });
    EXPECT_EQ(found, expected);
  }
  const std::string found = printed_without_times(
      [&] { model.evaluate(batches_of_six(), {.verbose = Verbose::kSilent, .steps = 2, .callbacks = {bar}}); });
  EXPECT_EQ(found.rfind("2/2 - _ - ", 0), 0u) << found;
  EXPECT_NE(found.find(" - accuracy: "), std::string::npos) << found;
}

TEST(FitCalls, OfNoEpochsDoNothing) {
  Sequential model = regularized();
  model.compile(sgd(0.1));
  std::string seen;
  FitOptions fit = epochs(0);
  fit.callbacks = {LambdaCallback({.on_train_begin = [&](TrainingRun&) { seen += "begin "; },
                                   .on_train_end = [&](TrainingRun&, const Logs&) { seen += "end"; }})};
  const History h = model.fit(first_input(), labels(), fit);
  EXPECT_TRUE(h.epoch.empty());
  EXPECT_TRUE(h.history.empty());
  EXPECT_EQ(seen, "begin end");
}

// As Keras calls them: auc, auc_1, and weighted_accuracy beside accuracy.
TEST(FitCalls, MakeTheNamesOfMetricsUnique) {
  Sequential model({Dense({.units = 1, .activation = sigmoid})});
  model.compile({.optimizer = SGD(0.1),
                 .loss = "binary_crossentropy",
                 .metrics = {"accuracy", AUC(), AUC({.curve = "PR"})},
                 .weighted_metrics = {"accuracy", "accuracy"},
                 .strategy = Strategy("cpu")});
  const Array y(pattern(kExamples, 1, 2, 0, 1), {kExamples, 1});
  const Logs logs = model.evaluate(first_input(), y, {.verbose = Verbose::kSilent});
  for (const char* name : {"accuracy", "auc", "auc_1", "weighted_accuracy", "weighted_accuracy_1"})
    EXPECT_EQ(logs.count(name), 1u) << name;
  EXPECT_EQ(logs.size(), 6u);
  EXPECT_EQ(logs.at("weighted_accuracy"), logs.at("accuracy"));
}

TEST(FitCalls, WarnWhereEvaluationHasFewerBatchesThanSteps) {
  Sequential model = regularized();
  model.compile(sgd(0.1));
  testing::internal::CaptureStderr();
  model.evaluate(first_input(), labels(), {.batch_size = 32, .verbose = Verbose::kSilent, .steps = 9});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "evaluate: the data ended after 1 of 9 steps\n");
}

TEST(FitCalls, RefuseARateThatIsNoneAndABeginningThatComesTooLate) {
  struct Calls : Callback {
    explicit Calls(std::function<void(TrainingRun&)> call) : call(std::move(call)) {}
    void on_epoch_begin(TrainingRun& run, int) override { call(run); }
    std::function<void(TrainingRun&)> call;
  };
  const auto message = [](const std::function<void(TrainingRun&)>& call) {
    Sequential model = regularized();
    model.compile(sgd(0.1));
    FitOptions fit = epochs(1);
    fit.callbacks = {Calls(call)};
    return message_of([&] { model.fit(first_input(), labels(), fit); });
  };
  const auto has = [&](const std::string& text, const std::function<void(TrainingRun&)>& call) {
    EXPECT_NE(message(call).find(text), std::string::npos) << message(call);
  };
  has("the learning rate is nan", [](TrainingRun& run) { run.set_learning_rate(std::nan("")); });
  has("the learning rate is -1, expected 0 or more", [](TrainingRun& run) { run.set_learning_rate(-1); });
  has("set_initial_epoch: training has begun", [](TrainingRun& run) { run.set_initial_epoch(3); });
}

// Keras: one call before each execution and one behind it, with its first and its last batch.
TEST(FitCalls, TellOfEachExecutionOfEvaluationAndPrediction) {
  std::string seen;
  const auto begin = [&](TrainingRun&, int64_t batch) { seen += "(" + std::to_string(batch); };
  const auto end = [&](TrainingRun&, int64_t batch, auto...) { seen += std::to_string(batch) + ")"; };
  LambdaCallback note({.on_test_begin = [&](TrainingRun&) { seen += "test "; },
                       .on_test_batch_begin = begin,
                       .on_test_batch_end = end,
                       .on_predict_begin = [&](TrainingRun&) { seen += " predict "; },
                       .on_predict_batch_begin = begin,
                       .on_predict_batch_end = end});
  Sequential model = regularized();
  CompileOptions options = sgd(0.1);
  options.steps_per_execution = 2;
  model.compile(options);
  model.evaluate(first_input(), labels(), {.batch_size = 8, .verbose = Verbose::kSilent, .callbacks = {note}});
  model.predict(first_input(), {.batch_size = 8, .callbacks = {note}});
  EXPECT_EQ(seen, "test (01)(22) predict (01)(22)");
}

}  // namespace
}  // namespace tenon
