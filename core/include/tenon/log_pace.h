// When a line about training is due: often enough to be of use, and no more often than somebody reads.
#pragma once

#include <chrono>
#include <cstdint>

namespace tenon {

// Each `every` steps, but not within `at_least` seconds of the line before; `at_most` seconds after it in any case. The
// first that the steps say is due whatever the clock says. Used by one thread.
class LogPace {
 public:
  static constexpr double kAtLeast = 1, kAtMost = 10;

  // `every` 0: never.
  explicit LogPace(int64_t every, double at_least = kAtLeast, double at_most = kAtMost)
      : every_(every), at_least_(at_least), at_most_(at_most) {}

  // Training begins, or goes on after something else, such as evaluation.
  void begin(int64_t step);
  // Once a call of the device, which led to this step.
  bool due(int64_t step);
  // At the end of training: whether a line is to be written for the steps since the last one.
  bool left(int64_t step) const { return every_ > 0 && step > written_; }
  // A line is written. Returns the steps a second since the line before.
  double wrote(int64_t step);

 private:
  using Clock = std::chrono::steady_clock;
  int64_t every_;
  double at_least_, at_most_;
  int64_t seen_ = 0, written_ = 0;
  bool first_ = true;  // no line is written since begin()
  Clock::time_point written_at_ = Clock::now();
};

}  // namespace tenon
