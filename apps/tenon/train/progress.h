// How training shows where it is: one redrawn line on a terminal, plain lines in a pipe, JSON objects.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tenon/estimator.h"
#include "tenon/log_pace.h"

namespace tenon::runner {

class Progress : public TrainingHook {
 public:
  // Plain and JSON lines come at this pace and at the end. What a line says of loss and speed is of all steps since the
  // line before. `quiet`: nothing but JSON is shown, as another log is.
  Progress(bool json, const LogPace& pace, int64_t target, bool quiet = false);
  ~Progress() override;

  void on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) override;
  void begin(int64_t step) override;
  bool after_run(int64_t step, std::span<const float> losses) override;
  void end(int64_t step) override;
  // Clears the line on a terminal, so that something else can be printed.
  void clear();

  // Over all calls of train(), without evaluation.
  int64_t steps() const { return steps_; }
  int64_t examples() const { return now_.examples; }
  double seconds() const { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  // The loss and what the model gives beside it, "accuracy": means over the steps since they were taken last.
  using Means = std::vector<std::pair<std::string, double>>;
  Means take_means();
  void draw(int64_t step);
  void write(int64_t step);

  bool json_, terminal_;
  LogPace pace_;
  int64_t target_;
  int64_t first_ = 0, last_ = 0, steps_ = 0, losses_ = 0;
  double seconds_ = 0, loss_sum_ = 0;
  std::map<std::string, double> sums_;  // of tensors of the model
  Throughput now_, written_then_;  // of the whole call, and when the last line was written
  Clock::time_point begun_, drawn_;
  bool line_open_ = false;
};

}  // namespace tenon::runner
