#include "base/file/file.h"
#include "base/number.h"
#include "base/python_text.h"
#include "base/strings.h"
#include "callback/file_template.h"
#include "tenon/callbacks.h"

namespace tenon {
namespace {

constexpr std::string_view kLossFormat = ".5f";  // of what is said

std::string in_words(std::optional<double> value) { return value ? *python_format(*value, kLossFormat) : "None"; }

}  // namespace

BatchCount::BatchCount(const std::string& what, const Frequency& every) {
  constexpr std::string_view kExpected = ", expected \"epoch\" or a number of batches, 1 or more";
  if (every.text() == "epoch") return;
  if (!every.text().empty()) fail(what, " is '", every.text(), "'", kExpected);
  if (every.batches() < 1) fail(what, " is ", every.batches(), kExpected);
  every_ = every.batches();
}

bool BatchCount::due(int64_t batch) {
  if (by_epoch()) return false;
  seen_ += batch - last_;
  last_ = batch;
  if (seen_ < every_) return false;
  seen_ = 0;
  return true;
}

ModelCheckpoint::ModelCheckpoint(std::string filepath, ModelCheckpointOptions options)
    : MonitorCallback("ModelCheckpoint", options.monitor, options.save_best_only ? options.mode : "min", 0),
      filepath_(std::move(filepath)),
      options_(std::move(options)),
      count_("ModelCheckpoint: save_freq", options_.save_freq) {
  if (const std::string& mode = options_.mode; mode != "auto" && mode != "min" && mode != "max")
    fail("ModelCheckpoint: mode is '", mode, "', expected min, max or auto");
  if (filepath_.empty()) fail("ModelCheckpoint: filepath is '', expected a path");
  if (options_.initial_value_threshold)
    expect_number("ModelCheckpoint: initial_value_threshold", *options_.initial_value_threshold);
}

void ModelCheckpoint::on_train_begin(TrainingRun&) {
  best_ = options_.initial_value_threshold;
  last_saved_.clear();
  count_ = BatchCount("ModelCheckpoint: save_freq", options_.save_freq);
}

void ModelCheckpoint::on_epoch_begin(TrainingRun&, int epoch) {
  epoch_ = epoch;
  count_.begin_epoch();
}

void ModelCheckpoint::on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) {
  if (count_.due(batch)) save(run, epoch_, batch, logs);
}

void ModelCheckpoint::on_epoch_end(TrainingRun& run, int epoch, Logs& logs) {
  if (count_.by_epoch()) save(run, epoch, {}, logs);
}

void ModelCheckpoint::save(TrainingRun& run, int epoch, std::optional<int64_t> batch, const Logs& logs) {
  std::map<std::string, int64_t> counts{{"epoch", epoch + 1}};
  if (batch) counts["batch"] = *batch + 1;
  const std::string path = fill_template("ModelCheckpoint: filepath", filepath_, counts, logs);
  if (!wanted(run, epoch, logs, path)) return;
  check(make_directories(directory_of(path)));
  options_.save_weights_only ? run.save_weights(path) : run.save(path);
  last_saved_ = path;
  if (options_.verbose > 0) run.say(cat("\nEpoch ", epoch + 1, ": finished saving model to ", path));
}

// Where only the best is wanted and nothing says what is best, everything is saved.
bool ModelCheckpoint::wanted(TrainingRun& run, int epoch, const Logs& logs, const std::string& path) {
  const auto say = [&](const auto&... parts) {
    if (options_.verbose > 0) run.say(cat("\nEpoch ", epoch + 1, ": ", parts...));
  };
  if (!options_.save_best_only) {
    say("saving model to ", path);
    return true;
  }
  const std::optional<double> now = monitored(run, epoch, logs);
  if (!now) return true;
  if (!is_better(*now, best_)) {
    say(monitor(), " did not improve from ", in_words(best_));
    return false;
  }
  say(monitor(), " improved from ", in_words(best_), " to ", in_words(now), ", saving model to ", path);
  best_ = now;
  return true;
}

}  // namespace tenon
