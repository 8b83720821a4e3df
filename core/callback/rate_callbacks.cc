// Callbacks that set the learning rate.
#include "base/number.h"
#include "base/python_text.h"
#include "base/strings.h"
#include "tenon/callbacks.h"

namespace tenon {

ReduceLROnPlateau::ReduceLROnPlateau(ReduceLROnPlateauOptions options)
    : MonitorCallback("ReduceLROnPlateau", options.monitor, options.mode, options.min_delta),
      options_(std::move(options)) {
  expect_number("ReduceLROnPlateau: factor", options_.factor, 0);
  if (options_.factor >= 1) fail("ReduceLROnPlateau: factor is ", options_.factor, ", expected less than 1");
  expect_number("ReduceLROnPlateau: patience", options_.patience, 0);
  expect_number("ReduceLROnPlateau: cooldown", options_.cooldown, 0);
  expect_number("ReduceLROnPlateau: min_lr", options_.min_lr, 0);
}

void ReduceLROnPlateau::on_train_begin(TrainingRun&) {
  wait_ = cooling_ = 0;
  best_.reset();
}

void ReduceLROnPlateau::on_epoch_end(TrainingRun& run, int epoch, Logs& logs) {
  const double rate = run.learning_rate();
  logs["learning_rate"] = rate;
  const std::optional<double> now = monitored(run, epoch, logs);
  if (!now) return;
  if (cooling_ > 0) {
    --cooling_;
    wait_ = 0;
  }
  if (is_better(*now, best_)) {
    best_ = now;
    wait_ = 0;
  } else if (cooling_ == 0 && ++wait_ >= options_.patience) {
    reduce(run, epoch, rate);
  }
}

void ReduceLROnPlateau::reduce(TrainingRun& run, int epoch, double rate) {
  if (rate <= static_cast<double>(static_cast<float>(options_.min_lr))) return;  // as the device has it
  const double next = std::max(rate * options_.factor, options_.min_lr);
  run.set_learning_rate(next);
  if (options_.verbose > 0)
    run.say(cat("\nEpoch ", epoch + 1, ": ReduceLROnPlateau reducing learning rate to ", python_text(next), "."));
  cooling_ = options_.cooldown;
  wait_ = 0;
}

LearningRateScheduler::LearningRateScheduler(Schedule schedule, LearningRateSchedulerOptions options)
    : schedule_(std::move(schedule)), options_(options) {
  if (!schedule_) fail("LearningRateScheduler: schedule is no function");
}

LearningRateScheduler::LearningRateScheduler(std::function<double(int epoch)> schedule,
                                             LearningRateSchedulerOptions options)
    : options_(options) {
  if (!schedule) fail("LearningRateScheduler: schedule is no function");
  schedule_ = [schedule = std::move(schedule)](int epoch, double) { return schedule(epoch); };
}

void LearningRateScheduler::on_epoch_begin(TrainingRun& run, int epoch) {
  const double rate = schedule_(epoch, run.learning_rate());
  expect_number(cat("LearningRateScheduler: what schedule gave for epoch ", epoch), rate, 0);
  run.set_learning_rate(rate);
  if (options_.verbose > 0)
    run.say(cat("\nEpoch ", epoch + 1, ": LearningRateScheduler setting learning rate to ", python_text(rate), "."));
}

void LearningRateScheduler::on_epoch_end(TrainingRun& run, int, Logs& logs) {
  logs["learning_rate"] = run.learning_rate();
}

}  // namespace tenon
