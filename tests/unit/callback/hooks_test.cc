// Hooks with the Estimator's names: when they act, what they say, what they refuse.
#include "tenon/hooks.h"

#include <fstream>
#include <limits>
#include <regex>
#include <sstream>

#include "base/python_text.h"
#include "tenon/summary.h"
#include "unit/callback/callback_testing.h"
#include "unit/summary/event_testing.h"
#include "unit/summary/small_disk.h"

namespace tenon {
namespace {

using namespace callback_testing;

// Calls of the device of at most `most` steps until `last` or until the hook stops; the loss of step n is 1 / n.
void train(TestRun& run, Callback& hook, int64_t last, int64_t most = 1000) {
  hook.on_train_begin(run);
  for (int64_t batch = 0; run.at < last && !run.stopped;) {
    const int64_t n = std::min({last - run.at, most, hook.most_steps(run.at)});
    run.last_losses.clear();
    for (int64_t i = 0; i < n; ++i) run.last_losses.push_back(1 / static_cast<float>(++run.at));
    batch += n;
    hook.on_train_batch_end(run, batch - 1, {{"accuracy", 0.5}});
  }
  hook.on_train_end(run, {});
}

// Without the times, which are in parentheses.
std::vector<std::string> timeless(const std::vector<std::string>& lines) {
  std::vector<std::string> out;
  for (const std::string& line : lines)
    out.push_back(std::regex_replace(line, std::regex(" \\([0-9]+\\.[0-9]{3} sec\\)"), " (T)"));
  return out;
}

// NumPy 2.4's str() of them with suppress=True, as the hook sets it.
TEST(Hooks, ArraysArePrintedAsNumPyPrintsThem) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
  const auto counted = [](int n, float by) {
    std::vector<float> out;
    for (int i = 0; i < n; ++i) out.push_back(static_cast<float>(i) / by);
    return out;
  };
  std::vector<int32_t> many;
  for (int32_t i = 0; i < 1200; ++i) many.push_back(i);
  const std::pair<Array, std::string> cases[] = {
      {Array({-0.001f}), "[-0.001]"},
      {Array({1.25f}, {1, 1}), "[[1.25]]"},
      {Array({1.0f, -2.5f, 0.333333343f}), "[ 1.         -2.5         0.33333334]"},
      {Array({1e-9f, 1.0f}), "[0. 1.]"},
      {Array({1.5e8f, 2.0f, 0.1f}), "[1.5e+08 2.0e+00 1.0e-01]"},
      {Array({kNaN, 1.5f, -kInf}), "[ nan  1.5 -inf]"},
      {Array({kNaN}), "[nan]"},
      {Array({1, -20, 300}), "[  1 -20 300]"},
      {Array({true, false}), "[ True False]"},
      {Array({123456.789, 0.1}), "[123456.789      0.1  ]"},
      {Array(Type{DType::kF32, {0, 3}}), "[]"},
      {Array(counted(24, 8), {2, 3, 4}),
       "[[[0.    0.125 0.25  0.375]\n  [0.5   0.625 0.75  0.875]\n  [1.    1.125 1.25  1.375]]\n\n"
       " [[1.5   1.625 1.75  1.875]\n  [2.    2.125 2.25  2.375]\n  [2.5   2.625 2.75  2.875]]]"},
      {Array(counted(9, 3)),
       "[0.         0.33333334 0.6666667  1.         1.3333334  1.6666666\n 2.         2.3333333"
       "  2.6666667 ]"},
      {Array(many, {3, 400}),
       "[[   0    1    2 ...  397  398  399]\n [ 400  401  402 ...  797  798  799]\n"
       " [ 800  801  802 ... 1197 1198 1199]]"},
  };
  for (const auto& [array, expected] : cases) EXPECT_EQ(numpy_text(array), expected);
}

// As golden/estimator_log.txt: of steps 1, 21, 41; time since the last line from the second on.
TEST(Hooks, LoggingTensorHookLogsTheFirstStepAndEachSoManyAfterIt) {
  TestRun run;
  LoggingTensorHook hook({{"my_loss", "loss"}}, {.every_n_iter = 20});
  train(run, hook, 65);
  EXPECT_EQ(timeless(run.lines), (std::vector<std::string>{"my_loss = 1.0", "my_loss = 0.04761905 (T)",
                                                           "my_loss = 0.024390243 (T)", "my_loss = 0.016393442 (T)"}));
}

TEST(Hooks, LoggingTensorHookShowsLogsAndVariablesByTagInOrder) {
  TestRun run;
  run.values["v"] = Array({1.0f, 2.0f});
  run.values["global_step"] = Array(int64_t{3});
  LoggingTensorHook hook({{"w", "v"}, {"a", "accuracy"}, {"step", "global_step"}}, {.every_n_iter = 5});
  train(run, hook, 2);
  EXPECT_EQ(run.lines, std::vector<std::string>{"a = 0.5, step = 3, w = [1. 2.]"});
  LoggingTensorHook at_end({{"a", "w"}},
                           {.at_end = true, .formatter = [](const Arrays& v) { return "w is " + to_text(v.at("a")); }});
  train(run, at_end, 40);
  EXPECT_EQ(run.lines.size(), 2u);
  EXPECT_EQ(run.lines.back(), "w is f32[] 0");
  LoggingTensorHook wrong({{"a", "weight"}}, {.every_n_iter = 1});
  EXPECT_EQ(error_of([&] { train(run, wrong, 50); }),
            "LoggingTensorHook: there is no 'weight'; there are: loss, accuracy, global_step, learning_rate, v, w, "
            "w/momentum");
}

// Estimator's log has global_step/sec at steps 21, 41, ..: not at the first.
TEST(Hooks, StepCounterHookTellsTheRateFromTheSecondTimeOn) {
  TestRun run;
  StepCounterHook hook({.every_n_steps = 20});
  train(run, hook, 65);
  ASSERT_EQ(run.lines.size(), 3u);
  EXPECT_TRUE(std::regex_match(run.lines[0], std::regex("global_step/sec: [0-9.e+]+"))) << run.lines[0];
}

TEST(Hooks, StopAtStepHookStopsAtAStepOrAfterSoMany) {
  TestRun run;
  StopAtStepHook more({.num_steps = 7}), last({.last_step = 10});
  run.at = 5;
  train(run, more, 100);
  EXPECT_EQ(run.at, 12);
  TestRun other;
  train(other, last, 100);
  EXPECT_EQ(other.at, 10);
  other.stopped = false;
  train(other, last, 100);  // is there already
  EXPECT_EQ(other.at, 10);
}

TEST(Hooks, CheckpointSaverHookSavesAtTheBeginningEachSoManyStepsAndAtTheEnd) {
  const TemporaryDirectory directory;
  TestRun run;
  CheckpointSaverHook hook(directory / "c", {.save_steps = 30, .keep_checkpoint_max = 2});
  train(run, hook, 65, 20);
  std::vector<std::string> names;
  for (const std::string& path : run.saved) names.push_back(path.substr(directory.path().size() + 1));
  EXPECT_EQ(names,
            (std::vector<std::string>{"c/model.ckpt-0", "c/model.ckpt-30", "c/model.ckpt-60", "c/model.ckpt-65"}));
  EXPECT_FALSE(directory.has("c/model.ckpt-30.index"));
  EXPECT_TRUE(directory.has("c/model.ckpt-60.index") && directory.has("c/model.ckpt-65.index"));
}

TEST(Hooks, NanTensorHookFailsOrStops) {
  TestRun run;
  run.last_losses = {1, std::numeric_limits<float>::infinity()};
  NanTensorHook().on_train_batch_end(run, 1, {});  // infinity is no NaN
  run.last_losses = {std::numeric_limits<float>::quiet_NaN(), 1};
  EXPECT_EQ(error_of([&] { NanTensorHook().on_train_batch_end(run, 1, {}); }), "NaN loss during training");
  EXPECT_FALSE(run.stopped);
  NanTensorHook({.fail_on_nan_loss = false}).on_train_batch_end(run, 1, {});
  EXPECT_TRUE(run.stopped);
  EXPECT_EQ(run.lines, std::vector<std::string>{"Model diverged with loss = NaN."});
}

TEST(Hooks, SummarySaverHookWritesScalarsThatTensorBoardReads) {
  const TemporaryDirectory directory;
  TestRun run;
  SummarySaverHook hook(directory.path(), {{"train/loss", "loss"}, {"weight", "w"}}, {.save_steps = 3});
  train(run, hook, 5);
  const std::string file = only_file(directory.path());
  EXPECT_NE(file.find("/events.out.tfevents."), std::string::npos);
  EXPECT_EQ(scalars_of(file),
            (std::vector<Scalar>{
                {1, "train/loss", 1.0f}, {1, "weight", 0.0f}, {4, "train/loss", 0.25f}, {4, "weight", 0.0f}}));
  train(run, hook, 5);  // has a file of its own
  EXPECT_EQ(directory.entries(), 2u);
}

TEST(Hooks, SummarySaverHookWritesSeveralNumbersAsAHistogram) {
  const TemporaryDirectory directory;
  TestRun run;
  run.values["v"] = Array({1.0f, 2.0f});
  SummarySaverHook hook(directory.path(), {{"weight", "v"}}, {.save_steps = 3});
  train(run, hook, 2);
  const std::vector<SummaryValue> values = values_of(only_file(directory.path()));
  ASSERT_EQ(values.size(), 1u);
  EXPECT_EQ(values[0].tag, "weight");
  EXPECT_EQ(values[0].shape, (std::vector<int64_t>{30, 3}));
}

TEST(Hooks, SummarySaverHookSaysOnceThatNothingCanBeWrittenAndTrainingGoesOn) {
  const TemporaryDirectory directory;
  TestRun run;
  SummarySaverHook hook(directory / "events", {{"weight", "w"}}, {.save_steps = 1});
  hook.on_train_begin(run);
  const std::string file = only_file(directory / "events");
  const SmallDisk disk(std::filesystem::file_size(file));
  for (run.at = 1; run.at <= 3; ++run.at) hook.on_train_batch_end(run, run.at - 1, {});
  EXPECT_EQ(run.lines, std::vector<std::string>{"SummarySaverHook: cannot write '" + file +
                                                "': File too large; training goes on without what was to be written"});
}

TEST(Hooks, ExamplesPerSecondHookTellsMeanAndCurrentRate) {
  TestRun run;
  ExamplesPerSecondHook hook(32, {.every_n_steps = 10, .warm_steps = 5});
  train(run, hook, 30);
  ASSERT_EQ(run.lines.size(), 2u);  // between 5, 15 and 25
  EXPECT_TRUE(std::regex_match(run.lines[1], std::regex("Average examples/sec: [0-9.e+]+ \\([0-9.e+]+\\), step = 25")))
      << run.lines[1];
  EXPECT_GT(hook.average(), 0);
}

// Results at steps 100, 200, ..; the step at which training stops, 0: never.
int64_t stops_at(EvaluationStopHook hook, const std::vector<double>& results, TestRun& run) {
  for (const double result : results) {
    run.at += 100;
    hook.on_test_end(run, {{"loss", result}});
    EXPECT_EQ(hook.stopped(), run.stopped);
    if (run.stopped) return run.at;
  }
  return 0;
}

int64_t stops_at(const EvaluationStopHook& hook, const std::vector<double>& results) {
  TestRun run;
  return stops_at(hook, results, run);
}

TEST(Hooks, StopIfNoDecreaseCountsStepsSinceTheBest) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(stops_at(stop_if_no_decrease_hook("loss", 200), {3, 2, 2, 1, 1, 1, 0}), 600);
  EXPECT_EQ(stops_at(stop_if_no_decrease_hook("loss", 201), {3, 2, 2, 1, 1, 1, 0}), 0);
  EXPECT_EQ(stops_at(stop_if_no_decrease_hook("loss", 200, {.min_steps = 500}), {3, 2, 2, 2, 4, 4, 4}), 700);
  EXPECT_EQ(stops_at(stop_if_no_decrease_hook("loss", 200), {nan, 3, 2, 1}), 0);  // not the best for ever
  EXPECT_EQ(stops_at(stop_if_no_increase_hook("loss", 200), {3, 4, 4, 4, 5}), 400);
}

EvaluationStopHook stop_hook(const std::string& rule, double limit, int64_t min_steps) {
  const EvaluationStopOptions options{.min_steps = min_steps};
  if (rule == "decrease") return stop_if_no_decrease_hook("m", static_cast<int64_t>(limit), options);
  if (rule == "increase") return stop_if_no_increase_hook("m", static_cast<int64_t>(limit), options);
  return rule == "lower" ? stop_if_lower_hook("m", limit, options) : stop_if_higher_hook("m", limit, options);
}

// tests/fixtures/make_early_stops.py: what TensorFlow's hooks do, which know of earlier evaluations by their events alone.
TEST(Hooks, ANewStopHookTakesUpEvaluationsAsTensorFlowsDo) {
  std::ifstream file(std::string(TENON_GOLDEN) + "/../fixtures/early_stops.csv");
  int rows = 0;
  std::string rule, limit, min_steps, evaluations, stops;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    for (std::string* field : {&rule, &limit, &min_steps, &evaluations, &stops}) std::getline(fields, *field, ',');
    const TemporaryDirectory directory;
    SummaryWriter events(directory.path(), {.tf1 = true});
    std::istringstream each(evaluations);
    char colon;
    double value;
    for (int64_t step; each >> step >> colon >> value;) events.scalar("m", value, step);
    TestRun run;
    run.at = 1000;
    RecordedSummaries recorded = read_summaries(directory.path()).take();
    for (const ScalarPoint& point : recorded.scalars["m"]) run.evaluated[point.step]["m"] = point.value;
    EvaluationStopHook hook = stop_hook(rule, std::stod(limit), std::stoll(min_steps));
    hook.on_train_begin(run);
    EXPECT_EQ(run.stopped, stops == "1") << line;
    ++rows;
  }
  EXPECT_EQ(rows, 17);
}

TEST(Hooks, AStopHookLeavesOutWhatIsBehindTheStepThatTrainingGoesOnFrom) {
  TestRun run;
  run.at = 300;
  run.evaluated = {{100, {{"m", 1}}}, {300, {{"m", 2}}}, {900, {{"m", 2}}}};
  EvaluationStopHook hook = stop_if_no_decrease_hook("m", 400);
  hook.on_train_begin(run);
  EXPECT_FALSE(run.stopped);
  run.at = 500;
  hook.on_test_end(run, {{"m", 3}});
  EXPECT_TRUE(run.stopped);
}

TEST(Hooks, StopIfLowerAndHigherCompareWithTheThreshold) {
  EXPECT_EQ(stops_at(stop_if_lower_hook("loss", 1), {3, 1, 0.5}), 300);
  EXPECT_EQ(stops_at(stop_if_higher_hook("loss", 2, {.min_steps = 200}), {3, 2, 2.5}), 300);
}

TEST(Hooks, StoppingByEvaluationSaysWhy) {
  TestRun by_steps, by_threshold;
  stops_at(stop_if_no_decrease_hook("loss", 100), {3, 3}, by_steps);
  EXPECT_EQ(by_steps.lines, (std::vector<std::string>{
                                "No decrease in metric \"loss\" for 100 steps, which is greater than or equal to max "
                                "steps (100) configured for early stopping.",
                                "Requesting early stopping at global step 200"}));
  stops_at(stop_if_higher_hook("loss", 2), {3}, by_threshold);
  EXPECT_EQ(by_threshold.lines[0],
            "At step 100, metric \"loss\" has value 3.0 which is higher than the configured threshold (2.0) for early "
            "stopping.");
  EXPECT_EQ(error_of([&] {
              stop_if_lower_hook("acc", 1).on_test_end(by_steps, {{"accuracy", 1}, {"loss", 1}});
            }),
            "stop_if_lower_hook: evaluation has no 'acc'; it has: accuracy, loss");
}

TEST(Hooks, WrongArgumentsAreNamed) {
  const std::string two = ", expected one of them";
  const std::vector<std::pair<std::string, std::string>> wrong{
      {error_of([] {
         LoggingTensorHook({{"a", "loss"}}, {});
       }),
       "LoggingTensorHook: every_n_iter is 0 and every_n_secs is 0" + two},
      {error_of([] {
         LoggingTensorHook({{"a", "loss"}}, {.every_n_iter = 1, .every_n_secs = 2});
       }),
       "LoggingTensorHook: every_n_iter is 1 and every_n_secs is 2" + two},
      {error_of([] {
         LoggingTensorHook({{"a", "loss"}}, {.every_n_iter = -1});
       }),
       "LoggingTensorHook: every_n_iter is -1, expected 0 or more"},
      {error_of([] { LoggingTensorHook({}, {.every_n_iter = 1}); }),
       "LoggingTensorHook: tensors is empty, expected names of losses, metrics or variables"},
      {error_of([] { StepCounterHook({.every_n_steps = 1, .every_n_secs = 1}); }),
       "StepCounterHook: every_n_steps is 1 and every_n_secs is 1" + two},
      {error_of([] { StopAtStepHook({}); }), "StopAtStepHook: num_steps is 0 and last_step is 0" + two},
      {error_of([] { StopAtStepHook({.num_steps = 1, .last_step = 2}); }),
       "StopAtStepHook: num_steps is 1 and last_step is 2" + two},
      {error_of([] { CheckpointSaverHook("d", {}); }), "CheckpointSaverHook: save_steps is 0 and save_secs is 0" + two},
      {error_of([] { CheckpointSaverHook("", {.save_steps = 1}); }),
       "CheckpointSaverHook: checkpoint_dir is '', expected a directory"},
      {error_of([] { ExamplesPerSecondHook(0); }), "ExamplesPerSecondHook: batch_size is 0, expected 1 or more"},
      {error_of([] { stop_if_no_decrease_hook("loss", -5); }),
       "stop_if_no_decrease_hook: max_steps_without_decrease is -5, expected 1 or more"},
      {error_of([] { stop_if_higher_hook("", 1); }),
       "stop_if_higher_hook: metric_name is '', expected a name of what evaluation gives"}};
  for (const auto& [found, expected] : wrong) EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace tenon
