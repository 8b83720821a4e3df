// The training loop: training.cc has the loop itself, training_results.cc what becomes of what its steps give.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/log_pace.h"
#include "train/background_save.h"
#include "train/estimator_impl.h"
#include "train/estimator_log.h"
#include "train/estimator_run.h"
#include "train/loop/training_pace.h"
#include "train/training_site.h"

namespace tenon {

// One call of train(): from the states that are provided to the target, a call of the device at a time.
class Estimator::Training {
 public:
  Training(Impl& m, const TrainOptions& options, std::optional<CheckpointManager> manager, Run& run);

  Result<TrainResult> run();

 private:
  Status prepare();
  // 0: the end of the input.
  int64_t target() const;
  Status begin();
  Status feed();
  const Executable& executable() const { return function_->executable(); }
  void sleep_first(double seconds) const;
  Status loop();
  // A batch with fewer rows is left out; behind it data that repeat batches go on. Not where there is nothing but such.
  bool passes_rest(const StepCall& done);
  bool has_buckets() const { return !input_->datasets[0].options().buckets.boundaries.empty(); }
  Result<uint32_t> steps() const;
  // What process 0 takes for the next call; an interruption of any process is one of all.
  Result<uint32_t> agreed_steps();
  Result<StepCall> call(uint32_t n);

  Status account(const StepCall& done);
  // What the model function gives to be looked at, where somebody looks.
  Result<Run::Values> watched(const StepCall& done);
  void say_loss();
  // The loss of step i of the call. An error, unless a callback is there for it.
  Status end_at_bad_loss(int64_t i);

  Status save();
  // While the next steps run.
  Status save_beside();
  // Processes wait for process 0 only where all save.
  Status tell_of_saved();
  Status checked(const Status& status, bool finite);
  // The states are worth nothing, and perhaps those of a checkpoint. `batch` is the first sample of the last batch.
  Status spoilt(const Status& why, uint64_t batch);
  // Saves what was done, also when the input or a callback failed on the way.
  Status finish(Status status);

  Impl& m_;
  const TrainOptions& options_;
  std::optional<CheckpointManager> manager_;
  BackgroundSave background_;  // by the manager
  Run& run_;
  std::optional<StepInput> input_;
  std::unique_ptr<TracedFunction> function_;
  std::optional<TrainingPace> pace_;
  LogPace lines_;
  std::optional<TrainingSite> site_;
  std::optional<estimator_log::Losses> log_;
  int64_t target_ = 0;
  TrainResult result_;
  std::vector<float> losses_;
  bool passed_rest_ = false;  // since the last step
  Logs last_;                 // of the model function's training tensors
  bool interrupted_ = false;
};

}  // namespace tenon
