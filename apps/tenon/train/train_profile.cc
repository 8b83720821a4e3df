#include "train/train_profile.h"

#include <algorithm>
#include <charconv>

#include "output.h"
#include "tenon/processes.h"

namespace tenon::runner {
namespace {

constexpr int64_t kFirst = 10, kLast = 20;

int64_t parse_step(std::string_view text, const std::string& whole) {
  int64_t step = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (error != std::errc() || end != text.data() + text.size() || step < 1)
    throw UsageError{"--profile_steps is '" + whole + "', expected FIRST,LAST, as 10,20"};
  return step;
}

ProfileOptions options_of(const Flags& flags, int64_t steps) {
  ProfileOptions out;
  out.directory = flags.text("profile");
  const std::string& span = flags.text("profile_steps");
  if (span.empty()) {
    out.last_step = std::clamp<int64_t>(steps, 1, kLast);
    out.first_step = std::min(kFirst, (out.last_step + 1) / 2);
    return out;
  }
  const size_t comma = std::min(span.find(','), span.size());
  out.first_step = parse_step(std::string_view(span).substr(0, comma), span);
  out.last_step = comma == span.size() ? out.first_step : parse_step(std::string_view(span).substr(comma + 1), span);
  if (out.last_step < out.first_step)
    throw UsageError{"--profile_steps is '" + span + "', expected a last step that is not before the first"};
  return out;
}

}  // namespace

void add_profile_flags(Flags& flags) {
  flags.text("profile", "", "directory for a profile of some steps, which TensorBoard and Perfetto open");
  flags.text("profile_steps", "", "with --profile: FIRST,LAST of the steps that this run trains; empty: 10,20");
}

TrainProfile::TrainProfile(const Flags& flags, int64_t steps) {
  if (wanted(flags))
    hook_.emplace(options_of(flags, steps));
  else if (flags.given("profile_steps"))
    throw UsageError{"--profile_steps needs --profile DIR"};
}

Callbacks TrainProfile::with(Callbacks hooks) {
  if (hook_) hooks.emplace_back(&*hook_);
  return hooks;
}

void TrainProfile::print(bool json) const {
  if (!hook_) return;
  check(hook_->status());
  const WrittenProfile& w = hook_->written();
  if (json)
    return print_line(Json("profile")
                          .add("xplane", w.xplane)
                          .add("trace", w.chrome_trace)
                          .add("steps", w.steps)
                          .add("device", w.device)
                          .add("times", std::string(w.predicted ? "predicted" : "measured"))
                          .str());
  print_line(format("profile of %s: %s%s (%s)", counted(w.steps, "step").c_str(), w.xplane.c_str(),
                    process_count() > 1 ? ", those of other processes beside it" : "",
                    w.predicted ? ("times predicted for " + w.device + ", none measured").c_str()
                                : ("times measured on " + w.device).c_str()));
}

}  // namespace tenon::runner
