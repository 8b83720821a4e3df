// How fast data come: by the clock and, for busy machines, by a core's work.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

#include "tenon/input.h"

namespace tenon::runner {

struct Rate {
  double a_second = 0, a_core = 0;
};

// From when it is made.
class Meter {
 public:
  void add(int64_t examples) { examples_ += examples; }
  int64_t examples() const { return examples_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }
  double core_seconds() const { return static_cast<double>(std::clock() - work_) / CLOCKS_PER_SEC; }
  Rate rate() const {
    const double n = static_cast<double>(examples_);
    return {n / seconds(), n / core_seconds()};
  }

 private:
  using Clock = std::chrono::steady_clock;
  int64_t examples_ = 0;
  Clock::time_point begun_ = Clock::now();
  std::clock_t work_ = std::clock();
};

// Examples of batches as a training takes them, of data that repeat. `batch_bytes`: of the largest batch of a feature; 0: those of
// batch_size examples. `work`: where the seconds of a core go that an example takes. Throws Error.
Rate rate_of(const Dataset& data, double seconds, int64_t batch_bytes = 0, InputWork::Seconds* work = nullptr);

}  // namespace tenon::runner
