#include "base/number.h"
#include "base/strings.h"
#include "tenon/callbacks.h"

namespace tenon {

EarlyStopping::EarlyStopping(EarlyStoppingOptions options)
    : MonitorCallback("EarlyStopping", options.monitor, options.mode, options.min_delta), options_(std::move(options)) {
  expect_number("EarlyStopping: patience", options_.patience, 0);
  expect_number("EarlyStopping: start_from_epoch", options_.start_from_epoch, 0);
  if (options_.baseline) expect_number("EarlyStopping: baseline", *options_.baseline);
}

void EarlyStopping::on_train_begin(TrainingRun&) {
  wait_ = best_epoch_ = 0;
  stopped_epoch_.reset();
  best_.reset();
  best_weights_.clear();
}

void EarlyStopping::on_epoch_end(TrainingRun& run, int epoch, Logs& logs) {
  const std::optional<double> now = monitored(run, epoch, logs);
  if (!now || epoch < options_.start_from_epoch) return;
  ++wait_;
  if (is_better(*now, best_)) {
    best_ = now;
    best_epoch_ = epoch;
    if (options_.restore_best_weights)
      for (const std::string& name : run.weights()) best_weights_[name] = run.read(name);
    if (!options_.baseline || is_better(*now, options_.baseline)) wait_ = 0;
    return;
  }
  if (wait_ < options_.patience || epoch == 0) return;
  stopped_epoch_ = epoch;
  run.stop();
}

void EarlyStopping::on_train_end(TrainingRun& run, const Logs&) {
  if (stopped_epoch_ && options_.verbose > 0) run.say(cat("Epoch ", *stopped_epoch_ + 1, ": early stopping"));
  if (best_weights_.empty()) return;
  if (options_.verbose > 0)
    run.say(cat("Restoring model weights from the end of the best epoch: ", best_epoch_ + 1, "."));
  for (const auto& [name, value] : best_weights_) run.write(name, value);
  best_weights_.clear();
}

}  // namespace tenon
