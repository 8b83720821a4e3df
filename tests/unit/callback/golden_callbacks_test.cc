// golden/callbacks.csv: what Keras's callbacks do when they are driven by hand.
#include <iostream>
#include <sstream>

#include "tenon/callbacks.h"
#include "unit/callback/callback_testing.h"
#include "unit/layer/golden.h"

namespace tenon {
namespace {

using namespace callback_testing;
using golden::Arguments;

std::string text_of(const Arguments& a, const std::string& name, const std::string& missing) {
  const auto it = a.find(name);
  return it == a.end() ? missing : it->second;
}

int integer(const Arguments& a, const std::string& name, int missing) {
  return static_cast<int>(golden::number(a, name, missing));
}

std::optional<double> optional(const Arguments& a, const std::string& name) {
  return a.contains(name) ? std::optional(std::stod(a.at(name))) : std::nullopt;
}

std::string shown(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

std::string early_stopping(const Arguments& a, const std::vector<double>& values) {
  const EarlyStoppingOptions usual;
  EarlyStopping callback({.monitor = text_of(a, "monitor", usual.monitor),
                          .min_delta = golden::number(a, "min_delta", usual.min_delta),
                          .patience = integer(a, "patience", usual.patience),
                          .mode = text_of(a, "mode", usual.mode),
                          .baseline = optional(a, "baseline"),
                          .restore_best_weights = golden::flag(a, "restore_best_weights"),
                          .start_from_epoch = integer(a, "start_from_epoch", usual.start_from_epoch)});
  TestRun run;
  run_epochs(run, callback, text_of(a, "monitor", usual.monitor), values);
  std::ostringstream out;
  out << "stopped_epoch=";
  if (callback.stopped_epoch()) out << *callback.stopped_epoch();
  std::string best = callback.best() ? shown(*callback.best()) : "none";
  if (best == "1") best = "1.0";
  out << " wait=" << callback.wait() << " best=" << best << " best_epoch=" << callback.best_epoch()
      << " weights_of_epoch=" << run.weight();
  return out.str();
}

// The rate after each epoch.
std::string plateau(const Arguments& a, const std::vector<double>& values) {
  const ReduceLROnPlateauOptions usual;
  ReduceLROnPlateau callback({.factor = golden::number(a, "factor", usual.factor),
                              .patience = integer(a, "patience", usual.patience),
                              .min_delta = golden::number(a, "min_delta", usual.min_delta),
                              .cooldown = integer(a, "cooldown", usual.cooldown),
                              .min_lr = golden::number(a, "min_lr", usual.min_lr)});
  TestRun run;
  std::string out = "lr_after_each_epoch=";
  callback.on_train_begin(run);
  for (size_t i = 0; i < values.size(); ++i) {
    Logs logs{{usual.monitor, values[i]}};
    callback.on_epoch_end(run, static_cast<int>(i), logs);
    EXPECT_TRUE(logs.contains("learning_rate"));
    out += (i ? " " : "") + shown(run.learning_rate());
  }
  return out;
}

// "3 epochs of 4 batches", "..., steps_per_execution=2 (calls at batch 1 3 5)"
void run_batches(TestRun& run, Callback& callback, const std::string& what) {
  const int epochs = std::stoi(what), batches = std::stoi(what.substr(what.find(" of ") + 4));
  const size_t executions = what.find("steps_per_execution=");
  const int each = executions == std::string::npos ? 1 : std::stoi(what.substr(executions + 20));
  callback.on_train_begin(run);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    callback.on_epoch_begin(run, epoch);
    for (int batch = each - 1; batch < batches; batch += each) callback.on_train_batch_end(run, batch, {});
  }
}

std::string checkpoint(const Arguments& a, const std::string& values) {
  const TemporaryDirectory directory;
  const int freq = integer(a, "save_freq", 0);
  ModelCheckpoint callback(directory / a.at("0"), {.save_best_only = golden::flag(a, "save_best_only"),
                                                   .save_freq = freq > 0 ? Frequency(freq) : Frequency("epoch"),
                                                   .initial_value_threshold = optional(a, "initial_value_threshold")});
  TestRun run;
  if (values.find("batches") != std::string::npos)
    run_batches(run, callback, values);
  else
    run_epochs(run, callback, "val_loss", golden::numbers(values));
  std::string out = "saved=";
  for (const std::string& path : run.saved)
    out += (out.back() == '=' ? "" : " ") + path.substr(directory.path().size() + 1);
  return out;
}

std::string result_of(const golden::Row& row) {
  const Arguments a = golden::arguments(row.at("arguments"));
  if (row.at("callback") == "ModelCheckpoint") return checkpoint(a, row.at("values"));
  const std::vector<double> values = golden::numbers(row.at("values"));
  return row.at("callback") == "EarlyStopping" ? early_stopping(a, values) : plateau(a, values);
}

// In Keras a first NaN stays the best for ever. Here it is no number: what comes after it is better.
const std::map<std::string, std::string>& better_than_keras() {
  static const std::map<std::string, std::string> rows{
      {"nan 1.0 nan nan nan", "stopped_epoch=3 wait=2 best=1.0 best_epoch=1 weights_of_epoch=3"},
      {"nan nan 1.0", "stopped_epoch=1 wait=2 best=none best_epoch=0 weights_of_epoch=1"}};
  return rows;
}

TEST(GoldenCallbacks, DoWhatKerasDoes) {
  int tried = 0, deliberate = 0;
  for (const golden::Row& row : golden::rows("callbacks.csv")) {
    const auto ours = better_than_keras().find(row.at("values"));
    const bool differs = ours != better_than_keras().end();
    EXPECT_EQ(result_of(row), differs ? ours->second : row.at("result"))
        << row.at("callback") << ": " << row.at("arguments") << ": " << row.at("values");
    ++tried;
    deliberate += differs;
  }
  EXPECT_EQ(tried, 27);
  EXPECT_EQ(deliberate, 2);
  std::cout << tried << " rows, " << deliberate << " of which differ on purpose\n";
}

}  // namespace
}  // namespace tenon
