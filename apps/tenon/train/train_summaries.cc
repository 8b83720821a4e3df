#include "train/train_summaries.h"

#include <chrono>
#include <utility>

#include "tenon/run_writer.h"

namespace tenon::runner {
namespace {

// As the TensorBoard callback has them, in the file of the Estimator's summaries: how long each epoch of the data took without
// evaluation, of a shorter training what one would take; and weights at each evaluation.
class RunSummaries : public Callback {
 public:
  RunSummaries(const std::string& directory, double steps_of_epoch, bool histograms)
      : writer_("summaries", directory, {.tf1 = true}), steps_of_epoch_(steps_of_epoch), histograms_(histograms) {}

  bool needs_logs() const override { return false; }
  void on_train_begin(TrainingRun& run) override {
    writer_.open(run);
    writer_.write(run, "", [&](SummaryWriter& writer) { writer.text("device", run.device(), run.step()); });
    step_ = first_step_ = run.step();
  }
  void on_epoch_begin(TrainingRun&, int) override { at_ = Clock::now(); }  // evaluation does not count
  void on_train_batch_end(TrainingRun& run, int64_t, const Logs&) override {
    const auto now = Clock::now();
    seconds_ += std::chrono::duration<double>(now - std::exchange(at_, now)).count();
    step_ = run.step();
    if (epochs_at(step_) > epochs_at(first_step_)) write_seconds(run, epochs_at(step_) - 1);
  }
  void on_epoch_end(TrainingRun& run, int, Logs&) override {
    if (!histograms_) return;
    for (const std::string& name : run.weights()) {
      const Array weight = run.read(name);
      writer_.write(run, "", [&](SummaryWriter& writer) { writer.histogram(name, weight, run.step()); });
    }
  }
  void on_train_end(TrainingRun& run, const Logs&) override {
    if (!wrote_ && step_ > first_step_) write_seconds(run, 0);
  }

 private:
  using Clock = std::chrono::steady_clock;
  int64_t epochs_at(int64_t step) const { return static_cast<int64_t>(static_cast<double>(step) / steps_of_epoch_); }

  // By the steps since the last ones.
  void write_seconds(TrainingRun& run, int64_t epoch) {
    Logs scalars{{"epoch_seconds", seconds_ / static_cast<double>(step_ - first_step_) * steps_of_epoch_}};
    if (const double ms = run.predicted_step_ms(); ms > 0)
      scalars["epoch_seconds_predicted"] = ms * 1e-3 * steps_of_epoch_;
    writer_.scalars(run, "", scalars, epoch);
    wrote_ = true;
    seconds_ = 0;
    first_step_ = step_;
  }

  RunWriter writer_;
  double steps_of_epoch_;
  bool histograms_, wrote_ = false;
  int64_t first_step_ = 0, step_ = 0;
  double seconds_ = 0;
  Clock::time_point at_;
};

}  // namespace

void add_summary_flags(Flags& flags) {
  flags.integer(
      "save_summary_steps", 0,
      "steps between losses for TensorBoard in model_dir, which gets graph, hyperparameters, times of epochs and "
      "evaluations too; 0: nothing",
      0, 1e15);
  flags.boolean("histograms", false, "with --save_summary_steps: histograms of the weights at each evaluation");
}

Callbacks with_summaries(const Flags& flags, Callbacks hooks, const Params& params, double steps_of_epoch) {
  const bool wanted = flags.integer("save_summary_steps") > 0;
  const std::string& directory = flags.text("model_dir");
  if (flags.boolean("histograms") && (!wanted || directory.empty()))
    throw UsageError{"--histograms needs --save_summary_steps N and --model_dir DIR"};
  if (!wanted || directory.empty()) return hooks;
  hooks.push_back(RunSummaries(directory, steps_of_epoch, flags.boolean("histograms")));  // makes the file
  hooks.push_back(HParamsCallback(directory, params));
  return hooks;
}

}  // namespace tenon::runner
