#include "tenon/log_pace.h"

#include <algorithm>
#include <utility>

namespace tenon {

void LogPace::begin(int64_t step) {
  seen_ = written_ = step;
  first_ = true;
  written_at_ = Clock::now();
}

bool LogPace::due(int64_t step) {
  if (every_ <= 0) return false;
  const bool reached = step / every_ > std::exchange(seen_, step) / every_;
  if (reached && (first_ || at_least_ <= 0)) return true;
  const double seconds = std::chrono::duration<double>(Clock::now() - written_at_).count();
  return seconds >= at_most_ || (reached && seconds >= at_least_);
}

double LogPace::wrote(int64_t step) {
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - std::exchange(written_at_, now)).count();
  first_ = false;
  return static_cast<double>(step - std::exchange(written_, step)) / std::max(seconds, 1e-9);
}

}  // namespace tenon
