#include "train/summaries.h"

#include <utility>

#include "base/strings.h"

namespace tenon {

template <class Write>
Status Summaries::write(const std::string& directory, const Write& write) {
  try {
    SummaryWriter& writer = files_.try_emplace(directory, directory, SummaryWriterOptions{.tf1 = true}).first->second;
    write(writer);
    if (writer.notice().empty() || std::exchange(noticed_, true)) return {};
    return Status(Code::kInvalid, cat("summaries: ", writer.notice()));
  } catch (const Error& e) {
    return Status(e.status().code(), cat("summaries: ", e.status().message()));
  }
}

Status Summaries::begin(const RunConfig& config, int64_t step, const std::vector<GraphNode>& nodes) {
  rated_.reset();
  if (!wanted(config) || std::exchange(begun_, true)) return {};
  return write(config.model_dir, [&](SummaryWriter& writer) {
    if (step > 0) writer.restarted(step);
    writer.graph(nodes);
  });
}

// Since the last one, in whole calls of the device; none of the first, nor across an evaluation.
Logs Summaries::rate_at(int64_t step) {
  const auto now = std::chrono::steady_clock::now();
  const auto before = std::exchange(rated_, std::pair(step, now));
  if (!before) return {};
  const double seconds = std::chrono::duration<double>(now - before->second).count();
  if (seconds <= 0 || step <= before->first) return {};
  return {{"global_step/sec", static_cast<double>(step - before->first) / seconds}};
}

constexpr int64_t kLossesOfADistance = 10000;

// Writes at the first step, and at each so many after it.
Status Summaries::after_call(const RunConfig& config, int64_t step, std::span<const float> losses,
                             const Values& values) {
  if (!wanted(config)) return {};
  Logs scalars;
  for (size_t i = 0; i < losses.size(); ++i) {
    const int64_t at = step + 1 + static_cast<int64_t>(i);
    if (saved_ >= 0 && at > saved_ && at - saved_ < config.save_summary_steps * doubled_) continue;
    if (++losses_ % kLossesOfADistance == 0) doubled_ *= 2;
    saved_ = at;
    scalars = {{"loss", losses[i]}};
    for (const auto& [name, each] : values) scalars[name] = each[i];
    TENON_TRY(write(config.model_dir, [&](SummaryWriter& writer) { writer.scalars(scalars, at); }));
  }
  const int64_t done = step + std::ssize(losses);
  if (scalars.empty()) return {};
  const Logs rate = rate_at(done);
  return write(config.model_dir, [&](SummaryWriter& writer) { writer.scalars(rate, done); });
}

namespace {

std::string evaluation_directory(const RunConfig& config, const std::string& name) {
  return cat(config.model_dir, name.empty() ? "/eval" : cat("/eval_", name));
}

}  // namespace

std::map<int64_t, Logs> Summaries::evaluations(const RunConfig& config, const std::string& name) {
  std::map<int64_t, Logs> out;
  if (config.model_dir.empty()) return out;
  const RecordedSummaries recorded = read_summaries(evaluation_directory(config, name)).take();
  for (const auto& [tag, points] : recorded.scalars)
    for (const ScalarPoint& point : points) out[point.step][tag] = point.value;
  return out;
}

Status Summaries::evaluated(const RunConfig& config, const std::string& name, int64_t step, const EvalResult& results) {
  if (!wanted(config)) return {};
  Logs scalars;
  for (const auto& [tag, value] : results)
    if (tag != "global_step") scalars[tag] = value;
  return write(evaluation_directory(config, name), [&](SummaryWriter& writer) { writer.scalars(scalars, step); });
}

}  // namespace tenon
