// How many steps the next call of training takes, and when a checkpoint is due.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/process/job.h"
#include "train/estimator_impl.h"

namespace tenon {

// The length of each call of training, so that logs and checkpoints fall where they are due.
class TrainingPace {
 public:
  TrainingPace(const RunConfig& config, int64_t target, int64_t most)
      : config_(config), target_(target), length_(config, most), last_save_(Clock::now()) {}

  int64_t steps(int64_t step) const {
    int64_t n = length_.batches();
    if (target_ > 0) n = std::min(n, target_ - step);
    for (int64_t every : {config_.log_step_count_steps, config_.save_checkpoints_steps})
      if (every > 0) n = std::min(n, every - step % every);
    return n;
  }
  void took(int64_t n, double seconds) { length_.took(n, seconds); }
  bool done(int64_t step) const { return target_ > 0 && step >= target_; }
  bool save_due(int64_t step) const {
    if (config_.save_checkpoints_steps > 0) return step % config_.save_checkpoints_steps == 0;
    const double secs = save_secs(config_);
    return secs > 0 && as_first_says(seconds_since(last_save_) >= secs);
  }
  void saved() { last_save_ = Clock::now(); }

 private:
  const RunConfig& config_;
  int64_t target_;
  CallLength length_;
  Clock::time_point last_save_;
};

}  // namespace tenon
