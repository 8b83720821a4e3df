// Inside of the Estimator, shared by its parts: training.cc, inference.cc, estimator.cc, estimator_checks.cc,
// estimator_device.cc, divergence.cc.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "backend/host/device_log.h"
#include "base/process/job.h"
#include "base/strings.h"
#include "checkpoint/model_directory.h"
#include "step/program.h"
#include "step/traced_function.h"
#include "tenon/estimator.h"
#include "tenon/interrupts.h"
#include "train/background_save.h"
#include "train/model_function.h"
#include "train/summaries.h"

namespace tenon {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The states that evaluation and prediction run on.
struct InferenceStates {
  std::unique_ptr<VariableStore> own;  // of a checkpoint that was named
  VariableStore* states = nullptr;
  int64_t step = 0;
};

// Whether a loss is one of weights that have diverged, beside one of weights that have not (divergence.cc).
bool is_absurd(float loss, float reference);

struct Estimator::Impl {
  ModelFn model;
  RunConfig config;
  Params params;
  std::optional<WarmStartSettings> warm_start_from;
  RunEvents events;
  std::shared_ptr<Device> device;
  Queue queue;
  std::unique_ptr<VariableStore> states;
  int64_t step = -1;                // of the states on the device; -1: none yet
  PipelineState input;              // where training stands in its input
  bool dirty = false;               // the states on the device are newer than any checkpoint
  std::string loaded;               // the checkpoint that they are equal to, unless dirty
  std::set<std::string> warned;     // of damaged checkpoints: said once
  bool bad_loss = false;            // the last evaluation failed because its loss was not finite
  DeviceLog* device_log = nullptr;  // while a call is in progress
  VariableStore::AllKept parked;    // the states, where the device was closed before they were saved
  std::optional<float> first_loss;  // of its training
  bool sound = true;                // whether the last loss is none of weights that have diverged, beside that
  std::string hash;                 // of the states when the device was closed
  bool configured = false;          // the configuration was told
  bool reopening = false;           // what the device says then was said before
  EvalMetrics metrics;              // of the evaluation that was traced last; their tensors are gone
  Summaries summaries;
  std::string before_feed;  // a line of the Estimator's that comes before the device's of its first batch

  // estimator_checks.cc
  Status check_config() const;
  // The configuration's words for a TPU against the device.
  Status check_tpu_config() const;
  static Status check(const TrainOptions& options);
  static Status check(const EvalOptions& options);
  static Status check(const TrainSpec& train, const EvalSpec& eval);
  static Status check_examples(int64_t predicted);

  // estimator_device.cc
  Status open();
  // Closes the device; the next call opens it again and goes on. REQUIRED: no program is there.
  Status close();
  Status park();  // keeps states that no checkpoint has
  void device_line(const std::string& line, bool detail);
  bool on_tpu() const { return device && device->units()[0].kind == "accelerator"; }
  // The function of a mode, compiled for such batches. With `told`, it prints the lines of calling the model function.
  Result<std::unique_ptr<TracedFunction>> function(const std::vector<FeatureSpec>& specs, int64_t batch, Mode mode,
                                                   int max_iterations, bool told = false,
                                                   Remainder remainder = Remainder::kDrop);
  TensorFunction with_lines(TensorFunction function, Mode mode);
  // Opens the device, whose hosts decide how many pipelines there are.
  Result<StepInput> step_input(const TrainInput& input, Mode mode = Mode::kTrain);
  void warn(const std::string& lines);  // each line once
  void warn(const Status& status) {
    if (!status.ok()) warn(status.message());
  }

  bool interrupted() const { return (config.interrupted && config.interrupted()) || InterruptWatch::interrupted(); }
  void watch_signals(std::optional<InterruptWatch>& watch) const {
    if (config.handle_signals) watch.emplace();
  }
  // `kept`: what became of the work done so far.
  Status interruption(const std::string& kept = {}) const { return interrupted() ? interrupted_here(kept) : Status(); }
  Status interrupted_here(const std::string& kept = {}) const {
    return Status(Code::kInterrupted, cat("interrupted at step ", std::max<int64_t>(step, 0), kept));
  }
  void info(const std::string& line) const {
    if (device_log) device_log->flush();
    if (events.on_info) events.on_info(line);
  }
  // Lines that only one of the ways to log has.
  bool estimator_log() const { return config.log_lines == LogLines::kEstimator; }
  void tenon_line(const std::string& line) const {
    if (config.log_lines == LogLines::kTenon) info(line);
  }
  void log(const std::string& line) const {
    if (estimator_log()) info(line);
  }
  // "; left out 2 corrupt records; the rest of FILE is lost, .."; empty: none.
  static std::string passed_over(const StepPipeline& pipeline);
  void report_corrupt(const StepPipeline& pipeline) const;
  Result<std::optional<TensorFile>> newest(bool required);
  Status provide(const Graph& graph, bool required);
  Status restore(const Graph& graph, const TensorFile& checkpoint);
  // `whole`: an error where the file lacks a weight.
  Status warm_start(const Graph& graph, bool whole);
  // The lines of a warm start of this graph's variables, which provide() is about to do.
  void log_warm_start(const Graph& graph);
  // For evaluation and prediction; a checkpoint that is named leaves the states of training as they are.
  Result<InferenceStates> provide(const Graph& graph, const std::string& prefix);
  // The states on the device are spoilt: the next call starts from the newest checkpoint.
  void discard();
  // `finite` becomes false where that is why it failed: the states are not to be used.
  Status save(CheckpointManager& manager, const PipelineState& at, bool* finite);
  // The same of a copy, by `background`, while training goes on; at once where there is no memory for a copy.
  Status save_copy(CheckpointManager& manager, const PipelineState& at, bool* finite, BackgroundSave& background);
  // Waits for what `background` writes, and tells of it. Where it failed the states are to be saved again.
  Status collect(BackgroundSave& background, bool* finite);
  void saved_as(const std::string& path, int64_t at_step);
  // Where the training that left a checkpoint stood in its input; the beginning where it does not say.
  static Result<PipelineState> input_of(const TensorFile& checkpoint);

  // divergence.cc. What to say after a loss that is not finite, or states that cannot be saved: which feature or variable
  // holds no number, which checkpoints have diverged and are set aside, and from which training goes on. The function is one
  // of training; `failed` is where its last batch stands, `variable` one that is known to be no number. Without a
  // manager nothing is said of checkpoints. REQUIRED: discard() was called.
  std::string judge(TracedFunction& function, const StepInput& data, CheckpointManager* manager,
                    std::optional<PipelineState> failed, const std::string& variable);
  // The same for a loss of evaluation; `input` is what it is trained on. Returns `why` with that text.
  Status with_cause(const Status& why, const TrainInput& input);

  // What backends log goes to the events, for as long as it lives: one call of the Estimator.
  class Listening {
   public:
    explicit Listening(Impl& m)
        : m_(m), log_([&m](const std::string& line, bool detail) { m.device_line(line, detail); }) {
      m_.device_log = &log_;
    }
    ~Listening() { m_.device_log = nullptr; }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;

   private:
    Impl& m_;
    DeviceLog log_;
  };
};

// Between checkpoints; 0: not by time.
inline double save_secs(const RunConfig& config) {
  return config.save_checkpoints_steps > 0 ? 0 : config.save_checkpoints_secs.value_or(600);
}

// Process 0 writes, the others of a job follow it.
inline Result<CheckpointManager> open_checkpoints(const RunConfig& config) {
  std::optional<CheckpointManager> own;
  TENON_TRY(as_first_does([&]() -> Status {
    TENON_ASSIGN(own, CheckpointManager::open(config.model_dir, config.keep_checkpoint_max,
                                              config.keep_checkpoint_every_n_hours));
    return {};
  }));
  if (!own) return CheckpointManager::follow(config.model_dir);
  return std::move(*own);
}

// The most batches that one call of the device may take.
inline int64_t batches_per_call(const RunConfig& config) {
  if (config.iterations_per_loop > 0) return config.iterations_per_loop;
  return std::clamp<int64_t>(config.log_step_count_steps, 1, 100);
}

// How many batches to ask of the device at once so that a call takes about half a second, unless the user chose.
class CallLength {
 public:
  CallLength(const RunConfig& config, int64_t most)
      : chosen_(config.iterations_per_loop > 0), most_(most), now_(chosen_ ? most : 1) {}
  int64_t batches() const { return now_; }
  // A call of `n` took so long.
  void took(int64_t n, double seconds) {
    constexpr double kWanted = 0.5;
    if (chosen_) return;
    const double fitting = kWanted * static_cast<double>(n) / std::max(seconds, 1e-9);
    now_ = std::clamp<int64_t>(static_cast<int64_t>(std::min(fitting, 1e9)), 1, most_);
  }

 private:
  bool chosen_;
  int64_t most_, now_;
};

}  // namespace tenon
