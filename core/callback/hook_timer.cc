#include "base/number.h"
#include "base/process/job.h"
#include "base/strings.h"
#include "tenon/hooks.h"

namespace tenon {

HookTimer::HookTimer(const std::string& owner, const std::string& steps_name, int64_t steps,
                     const std::string& secs_name, double secs)
    : HookTimer(steps, secs) {
  expect_number(cat(owner, ": ", steps_name), static_cast<double>(steps), 0);
  expect_number(cat(owner, ": ", secs_name), secs, 0);
  if ((steps > 0) == (secs > 0))
    fail(owner, ": ", steps_name, " is ", steps, " and ", secs_name, " is ", secs, ", expected one of them");
}

bool HookTimer::due(int64_t step) const {
  if (!last_step_) return true;
  if (step == *last_step_) return false;
  if (steps_ > 0) return step - *last_step_ >= steps_;
  return as_first_says(std::chrono::duration<double>(Clock::now() - last_time_).count() >= secs_);
}

std::optional<HookTimer::Elapsed> HookTimer::trigger(int64_t step) {
  const auto now = Clock::now();
  std::optional<Elapsed> out;
  if (last_step_) out = {step - *last_step_, std::chrono::duration<double>(now - last_time_).count()};
  last_step_ = step;
  last_time_ = now;
  return out;
}

int64_t HookTimer::most_steps(int64_t step) const {
  if (!last_step_) return 1;
  if (steps_ == 0) return std::numeric_limits<int64_t>::max();
  return std::max<int64_t>(steps_ - (step - *last_step_), 1);
}

}  // namespace tenon
