// Hooks that say or write numbers.
#include "base/number.h"
#include "base/python_text.h"
#include "base/strings.h"
#include "callback/hook_values.h"
#include "tenon/run_writer.h"

namespace tenon {
namespace {

constexpr int64_t kUsualSteps = 100;

// Neither is the usual number of steps.
HookTimer steps_or_secs(const std::string& owner, int64_t steps, double secs) {
  return {owner, "every_n_steps", steps == 0 && secs == 0 ? kUsualSteps : steps, "every_n_secs", secs};
}

void expect_tensors(const std::string& owner, const HookTensors& tensors) {
  if (tensors.empty()) fail(owner, ": tensors is empty, expected names of losses, metrics or variables");
}

std::shared_ptr<RunWriter> opened_writer(const std::string& owner, const std::string& directory, TrainingRun& run) {
  auto writer = std::make_shared<RunWriter>(owner, directory, SummaryWriterOptions{.tf1 = true});
  writer->open(run);
  return writer;
}

std::string short_number(double value) { return *python_format(value, "g"); }

}  // namespace

LoggingTensorHook::LoggingTensorHook(HookTensors tensors, LoggingTensorHookOptions options)
    : tensors_(std::move(tensors)), options_(std::move(options)) {
  expect_tensors("LoggingTensorHook", tensors_);
  if (options_.at_end && options_.every_n_iter == 0 && options_.every_n_secs == 0) return;
  timer_.emplace("LoggingTensorHook", "every_n_iter", options_.every_n_iter, "every_n_secs", options_.every_n_secs);
}

int64_t LoggingTensorHook::most_steps(int64_t step) const {
  return timer_ ? timer_->most_steps(step) : Callback::most_steps(step);
}

void LoggingTensorHook::on_train_begin(TrainingRun&) {
  if (timer_) timer_->reset();
}

void LoggingTensorHook::on_train_batch_end(TrainingRun& run, int64_t, const Logs& logs) {
  if (timer_ && timer_->due(run.step())) log(run, logs);
}

void LoggingTensorHook::on_train_end(TrainingRun& run, const Logs& logs) {
  if (options_.at_end) log(run, logs);
}

void LoggingTensorHook::log(TrainingRun& run, const Logs& logs) {
  const Arrays values = hook_values("LoggingTensorHook", tensors_, run, logs);
  const auto elapsed = timer_ ? timer_->trigger(run.step()) : std::nullopt;
  if (options_.formatter) return run.say(options_.formatter(values));
  std::vector<std::string> parts;
  for (const auto& [tag, value] : values) parts.push_back(cat(tag, " = ", hook_text(value)));
  run.say(cat(join(parts), elapsed ? cat(" (", *python_format(elapsed->secs, ".3f"), " sec)") : ""));
}

StepCounterHook::StepCounterHook(StepCounterHookOptions options)
    : timer_(steps_or_secs("StepCounterHook", options.every_n_steps, options.every_n_secs)),
      output_dir_(std::move(options.output_dir)) {}

void StepCounterHook::on_train_begin(TrainingRun& run) {
  timer_.reset();
  events_.reset();
  if (!output_dir_.empty()) events_ = opened_writer("StepCounterHook", output_dir_, run);
}

void StepCounterHook::on_train_batch_end(TrainingRun& run, int64_t, const Logs&) {
  if (!timer_.due(run.step())) return;
  const auto elapsed = timer_.trigger(run.step());
  if (!elapsed) return;
  const double rate = static_cast<double>(elapsed->steps) / std::max(elapsed->secs, 1e-9);
  run.say("global_step/sec: " + short_number(rate));
  if (events_) events_->scalars(run, "", {{"global_step/sec", rate}}, run.step());
}

SummarySaverHook::SummarySaverHook(std::string output_dir, HookTensors tensors, SummarySaverHookOptions options)
    : output_dir_(std::move(output_dir)),
      tensors_(std::move(tensors)),
      timer_("SummarySaverHook", "save_steps", options.save_steps, "save_secs", options.save_secs) {
  expect_tensors("SummarySaverHook", tensors_);
  if (output_dir_.empty()) fail("SummarySaverHook: output_dir is '', expected a directory");
}

void SummarySaverHook::on_train_begin(TrainingRun& run) {
  timer_.reset();
  events_.reset();
  events_ = opened_writer("SummarySaverHook", output_dir_, run);
}

void SummarySaverHook::on_train_batch_end(TrainingRun& run, int64_t, const Logs& logs) {
  if (!timer_.due(run.step())) return;
  timer_.trigger(run.step());
  const Arrays values = hook_values("SummarySaverHook", tensors_, run, logs);
  events_->write(run, "", [&](SummaryWriter& writer) {
    Logs scalars;
    for (const auto& [tag, value] : values)
      if (value.elements() == 1)
        scalars[tag] = value.item();
      else
        writer.histogram(tag, value, run.step());
    writer.scalars(scalars, run.step());
  });
}

ExamplesPerSecondHook::ExamplesPerSecondHook(int64_t batch_size, ExamplesPerSecondHookOptions options)
    : batch_size_(batch_size),
      warm_steps_(options.warm_steps),
      timer_(steps_or_secs("ExamplesPerSecondHook", options.every_n_steps, options.every_n_secs)) {
  expect_number("ExamplesPerSecondHook: batch_size", static_cast<double>(batch_size), 1);
  expect_number("ExamplesPerSecondHook: warm_steps", static_cast<double>(warm_steps_), 0);
}

void ExamplesPerSecondHook::on_train_begin(TrainingRun&) {
  timer_.reset();
  steps_ = 0;
  secs_ = 0;
}

void ExamplesPerSecondHook::on_train_batch_end(TrainingRun& run, int64_t, const Logs&) {
  if (run.step() < warm_steps_ || !timer_.due(run.step())) return;
  const auto elapsed = timer_.trigger(run.step());
  if (!elapsed) return;
  steps_ += elapsed->steps;
  secs_ += elapsed->secs;
  const double now = static_cast<double>(elapsed->steps * batch_size_) / std::max(elapsed->secs, 1e-9);
  run.say(cat("Average examples/sec: ", short_number(average()), " (", short_number(now), "), step = ", run.step()));
}

}  // namespace tenon
