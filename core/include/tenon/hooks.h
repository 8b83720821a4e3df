// Callbacks with the names, defaults and lines of TensorFlow's Estimator.
//
//   LoggingTensorHook log({{"loss", "loss"}, {"bias", "dense/bias"}}, {.every_n_iter = 100});
//   auto stop = stop_if_no_decrease_hook("loss", 2000);
//   train_and_evaluate(estimator, {.input = data, .max_steps = 20000, .hooks = {log, stop}}, {.input = test});
//
// They are callbacks, so that Model::fit takes them too. Where two ways of saying how often exclude each other, both,
// and neither where there is no default, are errors. Hooks that count steps end calls of the device where something is
// due; those that go by seconds look at the clock after each call. Constructors throw tenon::Error that names hook and
// argument. One object serves one call at a time.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/callback.h"

namespace tenon {

// Every so many steps, or else seconds: due after the first step, then so long after it was last.
class HookTimer {
 public:
  // One of the two is above 0.
  HookTimer(int64_t steps, double secs) : steps_(steps), secs_(secs) {}
  // Throws Error that begins with `owner` unless just one of them is above 0.
  HookTimer(const std::string& owner, const std::string& steps_name, int64_t steps, const std::string& secs_name,
            double secs);
  struct Elapsed {
    int64_t steps;
    double secs;
  };
  bool due(int64_t step) const;
  // It happened now: how long after the last time; none of the first.
  std::optional<Elapsed> trigger(int64_t step);
  std::optional<int64_t> last_step() const { return last_step_; }
  int64_t most_steps(int64_t step) const;  // until it is due
  void reset() { last_step_.reset(); }

 private:
  using Clock = std::chrono::steady_clock;
  int64_t steps_;
  double secs_;
  std::optional<int64_t> last_step_;
  Clock::time_point last_time_;
};

// What hooks show, by tag: "loss" or one of EstimatorSpec::training_tensors, of the last step; a name of the logs, or a
// variable.
using HookTensors = std::map<std::string, std::string>;

struct LoggingTensorHookOptions {
  int64_t every_n_iter = 0;  // the first step and each so many after it; or
  double every_n_secs = 0;   // both may be 0 with at_end
  bool at_end = false;       // once more when training ends
  std::function<std::string(const Arrays& values)> formatter =
      {};  // by tag; empty: "loss = 0.5, bias = 0.1 (0.047 sec)"
};

class LoggingTensorHook : public Callback {
 public:
  LoggingTensorHook(HookTensors tensors, LoggingTensorHookOptions options);
  int64_t most_steps(int64_t step) const override;
  void on_train_begin(TrainingRun& run) override;
  void on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) override;
  void on_train_end(TrainingRun& run, const Logs& logs) override;

 private:
  void log(TrainingRun& run, const Logs& logs);
  HookTensors tensors_;
  LoggingTensorHookOptions options_;
  std::optional<HookTimer> timer_;
};

class RunWriter;  // of what TensorBoard reads

struct StepCounterHookOptions {
  int64_t every_n_steps = 0;  // or every_n_secs; neither: 100 steps
  double every_n_secs = 0;
  std::string output_dir = {};  // for TensorBoard: the scalar global_step/sec; empty: none
};

// "global_step/sec: 426.417"
class StepCounterHook : public Callback {
 public:
  explicit StepCounterHook(StepCounterHookOptions options = {});
  int64_t most_steps(int64_t step) const override { return timer_.most_steps(step); }
  void on_train_begin(TrainingRun& run) override;
  void on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) override;

 private:
  HookTimer timer_;
  std::string output_dir_;
  std::shared_ptr<RunWriter> events_;
};

struct StopAtStepHookOptions {
  int64_t num_steps = 0;  // this many from the beginning of the call; or
  int64_t last_step = 0;  // until the step is this
};

class StopAtStepHook : public Callback {
 public:
  explicit StopAtStepHook(StopAtStepHookOptions options);
  int64_t most_steps(int64_t step) const override { return std::max<int64_t>(last_ - step, 1); }
  void on_train_begin(TrainingRun& run) override;
  void on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) override;

 private:
  StopAtStepHookOptions options_;
  int64_t last_ = 0;
};

struct CheckpointSaverHookOptions {
  int64_t save_steps = 0;  // or
  double save_secs = 0;
  std::string checkpoint_basename = "model.ckpt";
  int keep_checkpoint_max = 5;  // 0: all that this hook saves
};

// Saves everything as DIRECTORY/BASENAME-STEP when training begins, so often, and when it ends. In an Estimator's own
// model_dir those are its checkpoints, kept as it keeps them.
class CheckpointSaverHook : public Callback {
 public:
  explicit CheckpointSaverHook(std::string checkpoint_dir, CheckpointSaverHookOptions options);
  int64_t most_steps(int64_t step) const override { return timer_.most_steps(step); }
  void on_train_begin(TrainingRun& run) override;
  void on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) override;
  void on_train_end(TrainingRun& run, const Logs& logs) override;

 private:
  void save(TrainingRun& run);
  std::string directory_;
  CheckpointSaverHookOptions options_;
  HookTimer timer_;
  std::vector<std::string> saved_;
};

struct NanTensorHookOptions {
  bool fail_on_nan_loss = true;  // else training ends as if it were complete
};

// Ends training at a loss that is NaN, of any step.
class NanTensorHook : public Callback {
 public:
  explicit NanTensorHook(NanTensorHookOptions options = {}) : options_(options) {}
  bool ends_at_bad_loss() const override { return !options_.fail_on_nan_loss; }
  void on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) override;

 private:
  NanTensorHookOptions options_;
};

struct SummarySaverHookOptions {
  int64_t save_steps = 0;  // or
  double save_secs = 0;
};

// Summaries for TensorBoard (tenon/summary.h), by tag, as TensorFlow 1 writes them: one number is a scalar, several are
// a histogram. Where they cannot be written training goes on, as with the TensorBoard callback.
class SummarySaverHook : public Callback {
 public:
  explicit SummarySaverHook(std::string output_dir, HookTensors tensors, SummarySaverHookOptions options);
  int64_t most_steps(int64_t step) const override { return timer_.most_steps(step); }
  void on_train_begin(TrainingRun& run) override;
  void on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) override;

 private:
  std::string output_dir_;
  HookTensors tensors_;
  HookTimer timer_;
  std::shared_ptr<RunWriter> events_;
};

struct ExamplesPerSecondHookOptions {
  int64_t every_n_steps = 0;  // or every_n_secs; neither: 100 steps
  double every_n_secs = 0;
  int64_t warm_steps = 0;  // steps before this one are not counted
};

// "Average examples/sec: 5021.3 (5100.9), step = 300": of all that was counted, and since the last line.
class ExamplesPerSecondHook : public Callback {
 public:
  explicit ExamplesPerSecondHook(int64_t batch_size, ExamplesPerSecondHookOptions options = {});
  int64_t most_steps(int64_t step) const override { return timer_.most_steps(step); }
  void on_train_begin(TrainingRun& run) override;
  void on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) override;
  double average() const { return secs_ > 0 ? static_cast<double>(steps_ * batch_size_) / secs_ : 0; }

 private:
  int64_t batch_size_, warm_steps_;
  HookTimer timer_;
  int64_t steps_ = 0;
  double secs_ = 0;
};

struct EvaluationStopOptions {
  int64_t min_steps = 0;  // results of earlier steps do not count
};

// Ends training by what evaluation gave: in train_and_evaluate and in fit() with validation data. Made by the functions
// below. What it has seen of earlier calls it remembers, so that one object may be given to several. A new one takes
// what the Estimator's model_dir/eval says of steps before, as TensorFlow's: training that had enough then ends before
// its first step. NaN is never the best.
class EvaluationStopHook : public Callback {
 public:
  struct Rule {
    std::string owner, metric;
    bool higher = false;              // is better, or than the threshold
    std::optional<double> threshold;  // else steps without anything better
    int64_t max_steps = 0;
  };
  EvaluationStopHook(Rule rule, EvaluationStopOptions options);
  std::optional<double> best() const { return best_; }
  bool stopped() const { return stopped_; }
  void on_train_begin(TrainingRun& run) override;
  void on_test_end(TrainingRun& run, const Logs& logs) override;

 private:
  void stop_if_enough(TrainingRun& run);
  bool beyond_threshold(TrainingRun& run) const;
  bool without_better(TrainingRun& run);
  bool better(double value, double than) const { return rule_.higher ? value > than : value < than; }
  Rule rule_;
  EvaluationStopOptions options_;
  std::map<int64_t, double> seen_;  // by step
  std::optional<double> best_;
  bool stopped_ = false;
};

// The metric, "loss" too, has not decreased (increased) for this many steps.
EvaluationStopHook stop_if_no_decrease_hook(std::string metric_name, int64_t max_steps_without_decrease,
                                            EvaluationStopOptions options = {});
EvaluationStopHook stop_if_no_increase_hook(std::string metric_name, int64_t max_steps_without_increase,
                                            EvaluationStopOptions options = {});
// The metric is lower (higher) than the threshold.
EvaluationStopHook stop_if_lower_hook(std::string metric_name, double threshold, EvaluationStopOptions options = {});
EvaluationStopHook stop_if_higher_hook(std::string metric_name, double threshold, EvaluationStopOptions options = {});

}  // namespace tenon
