// Our defaults beside those of tests/golden/signatures.csv: of callbacks all, of hooks those that are there.
#include "tenon/callbacks.h"
#include "tenon/hooks.h"
#include "unit/layer/golden.h"

namespace tenon {
namespace {

using Defaults = std::map<std::string, std::string>;  // by argument, as Python writes them

std::string text(int value) { return std::to_string(value); }
std::string text(double value) { return std::to_string(value); }
std::string text(bool value) { return value ? "True" : "False"; }
std::string text(const std::optional<double>& value) { return value ? text(*value) : "None"; }
std::string text(const Frequency& value) { return value.text(); }
// Estimator's None is 0 here.
std::string or_none(double value) { return value == 0 ? "None" : text(value); }

bool equal(const std::string& a, const std::string& b) {
  char *end_a = nullptr, *end_b = nullptr;
  const double x = std::strtod(a.c_str(), &end_a), y = std::strtod(b.c_str(), &end_b);
  const bool numbers = !a.empty() && !b.empty() && *end_a == '\0' && *end_b == '\0';
  return numbers ? std::fabs(x - y) < 1e-9 : a == b;
}

std::map<std::string, Defaults> callbacks() {
  const EarlyStoppingOptions early;
  const ReduceLROnPlateauOptions plateau;
  const ModelCheckpointOptions checkpoint;
  const BackupAndRestoreOptions backup;
  const CSVLoggerOptions csv;
  return {{"EarlyStopping",
           {{"monitor", early.monitor},
            {"min_delta", text(early.min_delta)},
            {"patience", text(early.patience)},
            {"verbose", text(early.verbose)},
            {"mode", early.mode},
            {"baseline", text(early.baseline)},
            {"restore_best_weights", text(early.restore_best_weights)},
            {"start_from_epoch", text(early.start_from_epoch)}}},
          {"ReduceLROnPlateau",
           {{"monitor", plateau.monitor},
            {"factor", text(plateau.factor)},
            {"patience", text(plateau.patience)},
            {"verbose", text(plateau.verbose)},
            {"mode", plateau.mode},
            {"min_delta", text(plateau.min_delta)},
            {"cooldown", text(plateau.cooldown)},
            {"min_lr", text(plateau.min_lr)}}},
          {"ModelCheckpoint",
           {{"monitor", checkpoint.monitor},
            {"verbose", text(checkpoint.verbose)},
            {"save_best_only", text(checkpoint.save_best_only)},
            {"save_weights_only", text(checkpoint.save_weights_only)},
            {"mode", checkpoint.mode},
            {"save_freq", text(checkpoint.save_freq)},
            {"initial_value_threshold", text(checkpoint.initial_value_threshold)}}},
          {"BackupAndRestore",
           {{"save_freq", text(backup.save_freq)}, {"delete_checkpoint", text(backup.delete_checkpoint)}}},
          {"CSVLogger", {{"append", text(csv.append)}}},
          {"LearningRateScheduler", {{"verbose", text(LearningRateSchedulerOptions().verbose)}}},
          {"SwapEMAWeights", {{"swap_on_epoch", text(SwapEMAWeightsOptions().swap_on_epoch)}}},
          {"TensorBoard",
           {{"log_dir", TensorBoardOptions().log_dir}, {"update_freq", text(TensorBoardOptions().update_freq)}}},
          {"TerminateOnNaN", {{"raise_error", text(TerminateOnNaNOptions().raise_error)}}}};
}

std::map<std::string, Defaults> hooks() {
  const LoggingTensorHookOptions logging;
  const StopAtStepHookOptions stop;
  const CheckpointSaverHookOptions saver;
  const SummarySaverHookOptions summary;
  const Defaults evaluation{{"min_steps", text(static_cast<double>(EvaluationStopOptions().min_steps))}};
  const auto number = [](int64_t n) { return or_none(static_cast<double>(n)); };
  return {{"LoggingTensorHook",
           {{"every_n_iter", number(logging.every_n_iter)},
            {"every_n_secs", or_none(logging.every_n_secs)},
            {"at_end", text(logging.at_end)},
            {"formatter", logging.formatter ? "some" : "None"}}},
          {"StopAtStepHook", {{"num_steps", number(stop.num_steps)}, {"last_step", number(stop.last_step)}}},
          {"CheckpointSaverHook",
           {{"save_secs", or_none(saver.save_secs)},
            {"save_steps", number(saver.save_steps)},
            {"checkpoint_basename", saver.checkpoint_basename}}},
          {"StepCounterHook", {{"every_n_secs", or_none(StepCounterHookOptions().every_n_secs)}}},
          {"NanTensorHook", {{"fail_on_nan_loss", text(NanTensorHookOptions().fail_on_nan_loss)}}},
          {"SummarySaverHook", {{"save_steps", number(summary.save_steps)}, {"save_secs", or_none(summary.save_secs)}}},
          {"stop_if_no_decrease_hook", evaluation},
          {"stop_if_no_increase_hook", evaluation},
          {"stop_if_lower_hook", evaluation},
          {"stop_if_higher_hook", evaluation}};
}

// The arguments that it compared.
int compare(const std::string& module, std::map<std::string, Defaults> ours) {
  int compared = 0;
  for (const golden::Row& row : golden::rows("signatures.csv")) {
    const auto it = ours.find(row.at("name"));
    if (row.at("module") != module || it == ours.end()) continue;
    const golden::Arguments all = golden::arguments(row.at("arguments"));
    for (const auto& [argument, value] : it->second) {
      const auto theirs = all.find(argument);
      EXPECT_TRUE(theirs != all.end() && equal(value, theirs->second)) << it->first << " " << argument << ": " << value;
      ++compared;
    }
    ours.erase(it);
  }
  EXPECT_TRUE(ours.empty()) << "the file has no " << ours.begin()->first;
  return compared;
}

TEST(CallbackDefaults, AreThoseOfKerasAndTheEstimator) {
  EXPECT_EQ(compare("callbacks", callbacks()), 31);
  EXPECT_EQ(compare("estimator 2.15", hooks()), 17);
}

}  // namespace
}  // namespace tenon
