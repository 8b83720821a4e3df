// What an Estimator says unless its program says something else.
#include <cstdio>
#include <memory>

#include "base/strings.h"
#include "base/tell.h"
#include "tenon/estimator.h"
#include "train/estimator_log.h"

namespace tenon {
namespace {

void say(const std::string& line) { tell(line); }

std::string rate_text(double steps_per_second) {
  char text[32];
  std::snprintf(text, sizeof text, steps_per_second < 10 ? "%.2f" : "%.0f", steps_per_second);
  return text;
}

}  // namespace

RunEvents console_events(LogLines lines) {
  RunEvents out{.on_info = say};
  if (lines != LogLines::kTenon) return out;
  out.log_by_clock = true;
  const auto beside = std::make_shared<std::string>();  // the loss
  out.on_log_tensors = [beside](int64_t, const Logs& values) {
    beside->clear();
    for (const auto& [name, value] : values) append(*beside, cat("  ", name, " ", estimator_log::number(value)));
  };
  out.on_log = [beside](int64_t step, double loss, double steps_per_second) {
    say(cat("step ", step, "  loss ", estimator_log::number(loss), *beside, "  ", rate_text(steps_per_second),
            " steps/s"));
  };
  out.on_checkpoint = [](int64_t step, const std::string& path) { say(cat("saved step ", step, " to ", path)); };
  out.on_evaluate = [](int64_t step, const EvalResult& results) {
    std::string line = cat("evaluation of ", results.examples, " examples at step ", step, ":");
    for (const auto& [name, value] : results)
      if (name != "global_step") append(line, cat("  ", name, " ", estimator_log::number(value)));
    say(line);
  };
  return out;
}

}  // namespace tenon
