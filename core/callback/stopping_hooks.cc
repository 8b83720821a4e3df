// Hooks that end training or save it.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/file/file.h"
#include "base/number.h"
#include "base/python_text.h"
#include "base/strings.h"
#include "tenon/hooks.h"

namespace tenon {

StopAtStepHook::StopAtStepHook(StopAtStepHookOptions options) : options_(options) {
  expect_number("StopAtStepHook: num_steps", static_cast<double>(options_.num_steps), 0);
  expect_number("StopAtStepHook: last_step", static_cast<double>(options_.last_step), 0);
  if ((options_.num_steps > 0) == (options_.last_step > 0))
    fail("StopAtStepHook: num_steps is ", options_.num_steps, " and last_step is ", options_.last_step,
         ", expected one of them");
}

void StopAtStepHook::on_train_begin(TrainingRun& run) {
  last_ =
      options_.last_step > 0 ? options_.last_step : run.step() + std::min(options_.num_steps, INT64_MAX - run.step());
  if (run.step() >= last_) run.stop();
}

void StopAtStepHook::on_train_batch_end(TrainingRun& run, int64_t, const Logs&) {
  if (run.step() >= last_) run.stop();
}

CheckpointSaverHook::CheckpointSaverHook(std::string checkpoint_dir, CheckpointSaverHookOptions options)
    : directory_(std::move(checkpoint_dir)),
      options_(std::move(options)),
      timer_("CheckpointSaverHook", "save_steps", options_.save_steps, "save_secs", options_.save_secs) {
  expect_number("CheckpointSaverHook: keep_checkpoint_max", options_.keep_checkpoint_max, 0);
  if (directory_.empty()) fail("CheckpointSaverHook: checkpoint_dir is '', expected a directory");
  if (options_.checkpoint_basename.empty()) fail("CheckpointSaverHook: checkpoint_basename is '', expected a name");
}

void CheckpointSaverHook::on_train_begin(TrainingRun& run) {
  check(make_directories(directory_));
  timer_.reset();
  save(run);
}

void CheckpointSaverHook::on_train_batch_end(TrainingRun& run, int64_t, const Logs&) {
  if (timer_.due(run.step())) save(run);
}

void CheckpointSaverHook::on_train_end(TrainingRun& run, const Logs&) {
  if (timer_.last_step() != run.step()) save(run);
}

void CheckpointSaverHook::save(TrainingRun& run) {
  timer_.trigger(run.step());
  const std::string name = cat(options_.checkpoint_basename, "-", run.step());
  run.save(cat(directory_, "/", name));
  std::erase(saved_, name);
  saved_.push_back(name);
  if (options_.keep_checkpoint_max == 0 || std::ssize(saved_) <= options_.keep_checkpoint_max) return;
  const std::string oldest = saved_.front();
  saved_.erase(saved_.begin());
  for (const std::string& file : list_names(directory_, oldest + "*").take())
    if (file == oldest || file.starts_with(oldest + ".")) std::filesystem::remove_all(cat(directory_, "/", file));
}

void NanTensorHook::on_train_batch_end(TrainingRun& run, int64_t, const Logs&) {
  const std::span<const float> losses = run.losses();
  if (std::none_of(losses.begin(), losses.end(), [](float loss) { return std::isnan(loss); })) return;
  if (options_.fail_on_nan_loss) fail("NaN loss during training");
  run.say("Model diverged with loss = NaN.");
  run.stop();
}

EvaluationStopHook::EvaluationStopHook(Rule rule, EvaluationStopOptions options)
    : rule_(std::move(rule)), options_(options) {
  if (rule_.metric.empty()) fail(rule_.owner, ": metric_name is '', expected a name of what evaluation gives");
  if (rule_.threshold) expect_number(cat(rule_.owner, ": threshold"), *rule_.threshold);
  if (!rule_.threshold)
    expect_number(cat(rule_.owner, ": max_steps_without_", rule_.higher ? "increase" : "decrease"),
                  static_cast<double>(rule_.max_steps), 1);
  expect_number(cat(rule_.owner, ": min_steps"), static_cast<double>(options_.min_steps), 0);
}

// Training may have gone back to an earlier step: results of later ones are none of its own.
void EvaluationStopHook::on_train_begin(TrainingRun& run) {
  stopped_ = false;
  for (const auto& [step, logs] : run.evaluations())
    if (const auto it = logs.find(rule_.metric); it != logs.end() && step >= options_.min_steps)
      seen_.try_emplace(step, it->second);
  seen_.erase(seen_.upper_bound(run.step()), seen_.end());
  stop_if_enough(run);
}

void EvaluationStopHook::on_test_end(TrainingRun& run, const Logs& logs) {
  if (run.step() < options_.min_steps) return;
  const auto it = logs.find(rule_.metric);
  if (it == logs.end()) {
    std::vector<std::string> names;
    for (const auto& entry : logs) names.push_back(entry.first);
    fail(rule_.owner, ": evaluation has no '", rule_.metric, "'; it has: ", join(names));
  }
  seen_[run.step()] = it->second;
  if (!stopped_) stop_if_enough(run);
}

void EvaluationStopHook::stop_if_enough(TrainingRun& run) {
  if (!(rule_.threshold ? beyond_threshold(run) : without_better(run))) return;
  run.say(cat("Requesting early stopping at global step ", run.step()));
  stopped_ = true;
  run.stop();
}

bool EvaluationStopHook::beyond_threshold(TrainingRun& run) const {
  const auto found = std::find_if(seen_.begin(), seen_.end(),
                                  [&](const auto& result) { return better(result.second, *rule_.threshold); });
  if (found == seen_.end()) return false;
  run.say(cat("At step ", found->first, ", metric \"", rule_.metric, "\" has value ", python_text(found->second),
              " which is ", rule_.higher ? "higher" : "lower", " than the configured threshold (",
              python_text(*rule_.threshold), ") for early stopping."));
  return true;
}

// At any evaluation so far, counted from the best one before it.
bool EvaluationStopHook::without_better(TrainingRun& run) {
  best_.reset();
  int64_t best_step = seen_.empty() ? 0 : seen_.begin()->first;
  for (const auto& [step, value] : seen_) {
    if (!std::isnan(value) && (!best_ || better(value, *best_))) best_ = value, best_step = step;
    if (step - best_step < rule_.max_steps) continue;
    run.say(cat("No ", rule_.higher ? "increase" : "decrease", " in metric \"", rule_.metric, "\" for ",
                step - best_step, " steps, which is greater than or equal to max steps (", rule_.max_steps,
                ") configured for early stopping."));
    return true;
  }
  return false;
}

EvaluationStopHook stop_if_no_decrease_hook(std::string metric_name, int64_t max_steps_without_decrease,
                                            EvaluationStopOptions options) {
  return {{"stop_if_no_decrease_hook", std::move(metric_name), false, {}, max_steps_without_decrease}, options};
}
EvaluationStopHook stop_if_no_increase_hook(std::string metric_name, int64_t max_steps_without_increase,
                                            EvaluationStopOptions options) {
  return {{"stop_if_no_increase_hook", std::move(metric_name), true, {}, max_steps_without_increase}, options};
}
EvaluationStopHook stop_if_lower_hook(std::string metric_name, double threshold, EvaluationStopOptions options) {
  return {{"stop_if_lower_hook", std::move(metric_name), false, threshold}, options};
}
EvaluationStopHook stop_if_higher_hook(std::string metric_name, double threshold, EvaluationStopOptions options) {
  return {{"stop_if_higher_hook", std::move(metric_name), true, threshold}, options};
}

}  // namespace tenon
