// What several callbacks watch.
#include <algorithm>
#include <cmath>

#include "base/number.h"
#include "base/strings.h"
#include "tenon/callbacks.h"

namespace tenon {
namespace {

// Parts of names by which it is known what is better; those of less come first ("accuracy_loss").
constexpr std::string_view kLess[] = {"loss", "error",  "entropy", "mse",   "mae",  "mape",    "msle",
                                      "rmse", "diverg", "hinge",   "huber", "cosh", "poisson", "false_"};
constexpr std::string_view kMore[] = {"acc",  "auc",        "precision",   "recall",      "score",       "iou",
                                      "io_u", "similarity", "correlation", "sensitivity", "specificity", "true_"};

bool has_part(const std::string& name, std::span<const std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

bool more_is_better(const std::string& owner, const std::string& monitor, const std::string& mode) {
  if (mode == "min" || mode == "max") return mode == "max";
  if (mode != "auto") fail(owner, ": mode is '", mode, "', expected min, max or auto");
  if (has_part(monitor, kLess)) return false;
  if (has_part(monitor, kMore)) return true;
  fail(owner, ": mode is auto, and the name of monitor '", monitor,
       "' does not say whether more or less is better; expected mode min or max");
}

}  // namespace

MonitorCallback::MonitorCallback(std::string owner, std::string monitor, const std::string& mode, double min_delta)
    : owner_(std::move(owner)),
      monitor_(std::move(monitor)),
      more_is_better_(more_is_better(owner_, monitor_, mode)),
      min_delta_(min_delta) {
  expect_number(cat(owner_, ": min_delta"), min_delta, 0);
}

std::optional<double> MonitorCallback::monitored(TrainingRun& run, int epoch, const Logs& logs) {
  const auto it = logs.find(monitor_);
  if (it != logs.end()) return it->second;
  std::vector<std::string> names;
  for (const auto& entry : logs) names.push_back(entry.first);
  if (!std::exchange(told_, true))
    run.say(cat(owner_, ": monitor is '", monitor_, "', which epoch ", epoch + 1,
                " does not have; it has: ", names.empty() ? "nothing" : join(names)));
  return std::nullopt;
}

bool MonitorCallback::is_better(double value, std::optional<double> than) const {
  if (std::isnan(value)) return false;
  if (!than || std::isnan(*than)) return true;
  return more_is_better_ ? value > *than + min_delta_ : value < *than - min_delta_;
}

}  // namespace tenon
