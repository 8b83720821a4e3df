// The Estimator: trains, evaluates and predicts with a model function on any device.
//
//   EstimatorSpec model(const Features& features, const Tensor& labels, Mode mode, const Params& params);
//   Estimator estimator(model, {.model_dir = "/tmp/m", .device = "cpu"}, params);
//   check(train_and_evaluate(estimator, {.input = train_data, .max_steps = 10000}, {.input = test_data}).status());
//
// The model function is called once for each mode and builds that mode's graph; it never names a
// device. Variables belong to names: training, evaluation and prediction share them through the
// checkpoint in model_dir. Names and defaults are TensorFlow Estimator's.
//
// An Estimator is used by one thread at a time. Its methods return a Status or Result: mistakes of the
// model function are errors of the call.
#pragma once

#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/callback.h"
#include "tenon/export_output.h"
#include "tenon/exporters.h"
#include "tenon/features.h"
#include "tenon/layers.h"
#include "tenon/losses.h"
#include "tenon/metrics.h"
#include "tenon/optimizers.h"
#include "tenon/params.h"
#include "tenon/step_plan.h"
#include "tenon/train_input.h"
#include "tenon/warm_start.h"

namespace tenon {

struct EstimatorSpec {
  Mode mode = Mode::kTrain;
  Tensor loss = {};       // scalar; training and evaluation
  TrainOp train_op = {};  // training
  std::vector<std::pair<std::string, Tensor>> predictions = {};
  std::vector<std::pair<std::string, MetricOp>> eval_metrics = {};
  // Training: numbers of rank 0 of each step by their names, as an accuracy; of several units the mean. Hooks see them
  // by these names (LoggingTensorHook, SummarySaverHook, TrainingRun::values), logs and console lines have them beside
  // the loss. They are results of the step as the loss is, and change nothing of what is trained. Throws Error where
  // one is called "loss".
  std::vector<std::pair<std::string, Tensor>> training_tensors = {};
  ExportOutputs export_outputs = {};  // prediction: what the exported model answers; empty: its predictions
};

// A function whose features are one Tensor is one, too.
using ModelFn =
    std::function<EstimatorSpec(const Features& features, const Tensor& labels, Mode mode, const Params& params)>;

// What TPUEstimator's users tell of an accelerator or a device of several units; others ignore it.
struct TPUConfig {
  int64_t iterations_per_loop = 2;  // steps in one call of the device, unless RunConfig says; 0: half a second's
  int num_shards = 0;               // 0: the cores of the device; any other number is an error
  int num_cores_per_replica = 0;    // 0 or 1: a model is not dealt over cores
  InputPipelineConfig per_host_input_for_training = InputPipelineConfig::kPerHostV1;
  // Who reads in evaluation with an input function: one pipeline for all, as kPerHostV1 and kSliced both say, whatever
  // reads in training. Each example counts once, also where the function deals nothing out.
  InputPipelineConfig eval_training_input_configuration = InputPipelineConfig::kPerHostV1;
  double initial_infeed_sleep_secs = 0;  // before the first batch of train()
};

// What is told by RunEvents::on_info: Tenon's own lines, or those that TensorFlow's Estimator logs, in its words and
// order, or warnings alone. With kEstimator the device is closed at the end of each call, before the lines that follow
// there.
enum class LogLines : uint8_t { kTenon, kEstimator, kWarnings };

struct RunConfig {
  std::string model_dir = {};   // empty: nothing is kept
  std::string device = "auto";  // "cpu", "tpu-emulator:v3-8", "tpu", ... (tenon/devices.h)
  uint64_t seed = 0;            // of initial weights, dropout
  // Checkpoints: every so many steps, or else seconds, of which 600 are meant where neither is said; always one at the
  // end. Both above 0 are an error, and 0 seconds mean the one at the end alone.
  int64_t save_checkpoints_steps = 0;
  std::optional<double> save_checkpoints_secs = {};
  // Checkpoints between steps are written by a thread of their own while training goes on; a step waits for a copy of
  // the variables alone, or, where there is no memory for one, as without it. One is acknowledged
  // (RunEvents::on_checkpoint) once it is whole, which may be some steps later; a failure ends training then. The last
  // one is written at once.
  bool async_checkpoints = false;
  // The newest so many; 0: all. Of those saved where the loss had grown a million times over that of the first step,
  // which is no training any more, only the newest stays, so that there are older ones to go on from.
  int keep_checkpoint_max = 5;
  // One for every so many hours, that would be removed, is kept for good; 0: none. The hours count through all
  // processes that train in model_dir; TensorFlow's begin anew with each, which keeps none of those that are shorter.
  double keep_checkpoint_every_n_hours = 10000;
  int64_t log_step_count_steps = 100;
  // The loss for TensorBoard, every so many steps, with training_tensors, global_step/sec and once the graph; and what
  // evaluation gives: files events.out.tfevents.* in model_dir and in its `eval`, or `eval_NAME` (EvalOptions); 0:
  // none. Where they cannot be written, as when the disk is full, training goes on, and a line says so. The distance
  // doubles after each 10,000 losses of an Estimator, so that a file of millions of short steps stays small.
  int64_t save_summary_steps = 100;
  // Steps in one call of the device, up to 2^20; 0: as many as take about half a second.
  int64_t iterations_per_loop = 0;
  // With several replicas: what gradients are sent as, and whether each keeps a part of the optimizer's state
  // (StrategyOptions).
  DType all_reduce_dtype = DType::kNone;
  bool shard_optimizer_state = false;
  bool deterministic = false;  // no kernel is chosen by the clock
  bool trace = false;          // compile so that a StepRunner or a ProfilerHook can tell where time goes
  // Examples of a step on all units, where the input function has no batch size.
  int64_t train_batch_size = 0, eval_batch_size = 0, predict_batch_size = 0;
  std::optional<TPUConfig> tpu = {};
  bool soft_placement = false;  // ops that the device lacks run on cpu.so; a warning says which, and at what cost
  // First values are those of a trained model: without a checkpoint it can be evaluated all the same.
  bool begins_trained = false;
  LogLines log_lines = LogLines::kTenon;
  // Asked before each batch, at a step boundary, one at a time, perhaps on a thread of the device's. True ends training
  // (which saves first), evaluation or prediction with an error of code kInterrupted.
  std::function<bool()> interrupted = {};
  // SIGINT and SIGTERM while training end it the same way (tenon/interrupts.h), where the program has no handler of its
  // own for them; false: what they do is the program's affair.
  bool handle_signals = true;
};

// "loss", "global_step", the metrics.
struct EvalResult : std::map<std::string, double> {
  using map::map;
  int64_t examples = 0;  // that were measured
};

// What is told while training and evaluating; every member is optional. Called on the caller's thread. An Estimator
// begins with console_events(); set_events({}) has it say nothing.
struct RunEvents {
  // Every log_step_count_steps steps and at the end of training: the step just done, its loss, steps a second since the
  // call before; 0 steps: never.
  std::function<void(int64_t step, double loss, double steps_per_second)> on_log = {};
  // Called before it: what the model function gives to be looked at (EstimatorSpec::training_tensors), of that step.
  // Where there is nothing it is not called.
  std::function<void(int64_t step, const Logs& values)> on_log_tensors = {};
  std::function<void(int64_t step, const std::string& path)> on_checkpoint = {};
  std::function<void(const std::string& line)> on_info = {};  // warnings of the device's compiler among them, each once
  // What a warm start has loaded and what not, whole; on_info gets a line of it, unless this is set.
  std::function<void(const WarmStartReport& report)> on_warm_start = {};
  std::function<void(int64_t step, const EvalResult& results)> on_evaluate = {};
  // What the backend logs while a call is in progress, in order with on_info, which gets it unless this is set.
  std::function<void(const std::string& line)> on_device_log = {};
  // Details (what backends log for debugging) too, such as a TPU system's coming and going; with LogLines::kEstimator
  // always.
  bool device_details = false;
  // on_log comes once a second at most, but for the first and the last of a training, and after ten seconds in any
  // case, however long steps take (tenon/log_pace.h).
  bool log_by_clock = false;
};

// Lines on standard error: what is told by on_info and, of LogLines::kTenon, the loss each log_step_count_steps steps,
// once a second at most (log_by_clock), checkpoints and evaluations, which the Estimator's own lines have among them.
RunEvents console_events(LogLines lines = LogLines::kTenon);

// Callbacks by the names of an Estimator's hooks. In fit() each epoch begins and ends one.
class TrainingHook : public Callback {
 public:
  // Once the program is compiled, before begin(). An error is train()'s. The site lives until end(). Not in fit().
  virtual Status attach(TrainingSite& /*site*/) { return {}; }
  virtual void begin(int64_t /*step*/) {}
  // After each call of the device, with the losses of the steps that it did. Returns false to stop.
  virtual bool after_run(int64_t /*step*/, std::span<const float> /*losses*/) { return true; }
  // However training ends, and where evaluation comes between.
  virtual void end(int64_t /*step*/) {}

  void on_epoch_begin(TrainingRun& run, int epoch) override;
  void on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) override;
  void on_test_begin(TrainingRun& run) override;
  void on_epoch_end(TrainingRun& run, int epoch, Logs& logs) override;
  void on_train_end(TrainingRun& run, const Logs& logs) override;
  void on_train_error(TrainingRun& run, const Status& why) override;

 private:
  void leave(const TrainingRun& run);
  bool begun_ = false;
};

// A step takes a whole batch, on every device: one with fewer rows, where the data do not drop the remainder, is left
// out, but for those of buckets. A negative number, both of the two numbers of steps, and a "batch_size" or "context"
// among the Params are errors of the call before it begins.
struct TrainOptions {
  TrainInput input;
  int64_t steps = 0;      // this many more; or
  int64_t max_steps = 0;  // until global_step is this; both 0: to the end of the input
  Callbacks hooks = {};   // Keras's callbacks, Estimator's hooks, one's own; this is one epoch to them
};

struct EvalOptions {
  TrainInput input;
  int64_t steps = 0;            // batches; 0: all
  int64_t examples = 0;         // the first ones; 0: all. Each counts once, on several units too, unless
  bool drop_remainder = false;  // those at the end that the units cannot share are left out, which is told
  std::string name = {};        // of several evaluations of one model, for their summaries
  std::string checkpoint = {};  // a prefix, a .safetensors file, or a directory: its newest; empty: of model_dir
  // on_test_begin, _batch_begin, _batch_end and _end of callbacks are called; logs are those of the batches so far.
  // Variables can be read, and stop() ends it; what they cannot do here throws.
  Callbacks hooks = {};
};

struct TrainResult {
  int64_t global_step = 0;
  double loss = 0;  // of the last step
  double seconds = 0;
  double predicted_step_ms = 0;  // on the machine that an emulating device stands for; 0: nothing is predicted
};

// One row of predictions: by name, dense and row-major. `row` is the example's place in the input, from 0: examples
// that were left out as damaged have no row, and their numbers are missing.
using PredictRow = std::function<Status(int64_t row, const std::map<std::string, std::span<const float>>& values)>;

struct TrainSpec;
struct EvalSpec;
struct TrainAndEvaluateResult;

class Estimator {
 public:
  // With `warm_start_from`, training that finds no checkpoint in model_dir begins with the values that this one has; it
  // is told which, and that none is there for any variable is an error.
  Estimator(ModelFn model, RunConfig config, Params params = {}, std::optional<WarmStartSettings> warm_start_from = {});
  ~Estimator();
  Estimator(Estimator&&) noexcept;

  void set_events(RunEvents events);
  const RunConfig& config() const;

  // Goes on from the newest checkpoint, with the next unseen example. Slots and counters that it does not have (of
  // another optimizer, of a layer that was frozen, of a file of weights alone) begin anew, which is told; where the
  // input holds other data than the checkpoint was trained on, from its beginning, which is told. A loss that is not
  // finite ends the call with an error that names the step, the feature or variable that is no number, and the
  // checkpoint from which training goes on: weights that hold NaN or infinity are neither saved nor restored. A
  // checkpoint whose first step has no finite loss on other batches than the one that failed, where first values have
  // one, is set aside: model.ckpt-N is renamed to diverged.ckpt-N, in the place of nothing. The last one is only set
  // aside where its weights are absurd by themselves. With a callback that ends_at_bad_loss(), as TerminateOnNaN, all
  // of that is told, and the call ends without an error.
  Result<TrainResult> train(const TrainOptions& options);
  Result<EvalResult> evaluate(const EvalOptions& options);
  // Predictions as f32; integers are converted. Of the first `examples` of the input, 0: of all. One pipeline reads it.
  // The members of `hooks` on_predict_begin, _batch_begin, _batch_end and _end are called, as EvalOptions has it.
  Status predict(const TrainInput& input, const PredictRow& row, const std::string& checkpoint = {},
                 int64_t examples = 0, const Callbacks& hooks = {});

  // Closes the device, whose last lines are told; the next call opens it again and goes on. The destructor closes it
  // too, and tells nothing.
  Status close();

  // The steps done by the newest checkpoint; 0 when there is none.
  Result<int64_t> global_step() const;
  // Number of trainable and all parameters; builds the graph for this input.
  struct ParameterCount {
    int64_t trainable = 0, total = 0;
  };
  Result<ParameterCount> count_parameters(const Dataset& input);
  // What the model takes and answers when it is exported: of the features that it uses.
  Result<std::vector<ExportSignature>> signatures(const Dataset& input);
  // Writes EXPORT_DIR_BASE/VERSION from a checkpoint, for what serves it (tenon/export.h); its path. `input` says which
  // features the model has, and nothing is read from it. An error of a model that draws numbers, changes variables, or
  // depends on the number of examples otherwise than by having a row for each, names the node.
  Result<std::string> export_saved_model(const std::string& export_dir_base, const Dataset& input,
                                         const ExportOptions& options = {});
  // The model's weights and moving averages, in the order in which the model makes them.
  struct VariableInfo {
    std::string name;
    Type type;
    bool trainable = true;
  };
  Result<std::vector<VariableInfo>> variables(const Dataset& input);
  // The graph of a mode as text, as the device gets it when `lowered`; of batches of up to the input's batch size when
  // `bounded_batch`, as tenon/strategy.h says.
  Result<std::string> graph_text(const Dataset& input, Mode mode, bool lowered, bool bounded_batch = false);
  // What the device decided for a step of a mode, on batches of the input's batch size.
  // kUnsupported: its backend does not say.
  Result<StepPlan> plan(const Dataset& input, Mode mode);
  // A hash of all variables of the newest state, for comparing runs bit by bit.
  Result<std::string> variables_hash() const;

 private:
  struct Impl;
  class Run;
  class Training;
  class Inference;
  class InferenceRun;
  class Divergence;
  class Exports;
  Result<TrainResult> train(const TrainOptions& options, Run& run);
  Result<TrainResult> train_on_device(const TrainOptions& options, Run& run);
  Status save_changes();
  Result<EvalResult> evaluate_on_device(const EvalOptions& options);
  Status predict_on_device(const TrainInput& input, const PredictRow& row, const std::string& checkpoint,
                           int64_t examples, const Callbacks& hooks);
  Status with_cause(const Status& why, const TrainInput& train);
  friend Result<TrainAndEvaluateResult> train_and_evaluate(Estimator& estimator, const TrainSpec& train,
                                                           const EvalSpec& eval);
  std::unique_ptr<Impl> impl_;
};

struct TrainSpec {
  TrainInput input;
  int64_t max_steps = 0;
  int64_t steps_between_evals = 1000;  // 1 or more
  Callbacks hooks = {};  // an epoch is what lies between two evaluations, whose results are its val_loss and so on
};

struct EvalSpec {
  TrainInput input;
  int64_t steps = 0, examples = 0;  // as EvalOptions has them
  bool drop_remainder = false;
  std::string name = {};
  Callbacks hooks = {};
  std::vector<Exporter> exporters = {};
};

struct TrainAndEvaluateResult {
  TrainResult train;
  EvalResult eval;
};

// Reads the global step of the newest checkpoint; trains to min(step + steps_between_evals, max_steps),
// saves, evaluates, and repeats until max_steps.
Result<TrainAndEvaluateResult> train_and_evaluate(Estimator& estimator, const TrainSpec& train, const EvalSpec& eval);

}  // namespace tenon
