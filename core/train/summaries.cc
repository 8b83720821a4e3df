#include "train/summaries.h"

#include "base/text.h"

namespace tenon {

Status Summaries::add(const std::string& directory, int64_t step, const Logs& scalars) {
  try {
    std::unique_ptr<EventFile>& file = files_[directory];
    if (!file) file = std::make_unique<EventFile>(directory);
    file->add(step, scalars);
    return {};
  } catch (const Error& e) {
    return Status(e.status().code(), cat("summaries: ", e.status().message()));
  }
}

constexpr int64_t kLossesOfADistance = 10000;

// After a call that did the steps behind `step`: of the first step, and of each so many after it.
Status Summaries::after_call(const RunConfig& config, int64_t step, std::span<const float> losses) {
  if (config.model_dir.empty() || config.save_summary_steps <= 0) return {};
  for (size_t i = 0; i < losses.size(); ++i) {
    const int64_t at = step + 1 + static_cast<int64_t>(i);
    if (saved_ >= 0 && at > saved_ && at - saved_ < config.save_summary_steps * doubled_) continue;
    saved_ = at;
    if (++losses_ % kLossesOfADistance == 0) doubled_ *= 2;
    TENON_TRY(add(config.model_dir, at, {{"loss", losses[i]}}));
  }
  return {};
}

namespace {

std::string evaluation_directory(const RunConfig& config, const std::string& name) {
  return cat(config.model_dir, name.empty() ? "/eval" : cat("/eval_", name));
}

}  // namespace

std::map<int64_t, Logs> Summaries::evaluations(const RunConfig& config, const std::string& name) {
  return config.model_dir.empty() ? std::map<int64_t, Logs>() : read_scalars(evaluation_directory(config, name));
}

Status Summaries::evaluated(const RunConfig& config, const std::string& name, int64_t step, const EvalResult& results) {
  if (config.model_dir.empty() || config.save_summary_steps <= 0) return {};
  Logs scalars;
  for (const auto& [tag, value] : results)
    if (tag != "global_step") scalars[tag] = value;
  return add(evaluation_directory(config, name), step, scalars);
}

}  // namespace tenon
