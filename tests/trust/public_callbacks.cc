#include "public_functions.h"
#include "tenon/callbacks.h"
#include "tenon/hooks.h"

namespace tenon::public_arguments {
namespace {

using A = Arguments;

Frequency frequency(A& a) { return Frequency(a.number(5, {0, -1, kLeast})); }
// Steps, or else seconds.
template <class Options>
Options by_steps(A& a, int64_t Options::*steps) {
  Options o;
  o.*steps = a.number(5, {-1, kLeast});
  return o;
}

const std::vector<Function> kCallbacks = {
    {"EarlyStopping",
     [](A& a) {
       EarlyStoppingOptions o;
       o.min_delta = a.finite(0);
       o.patience = a.count(2);
       o.mode = a.word("max", "maximum");
       o.baseline = a.finite(1);
       o.start_from_epoch = a.count(1);
       EarlyStopping{o};
     }},
    {"ReduceLROnPlateau",
     [](A& a) {
       ReduceLROnPlateauOptions o;
       o.factor = a.within(0.5, {-0.5, 1, 2});
       o.patience = a.count(2);
       o.mode = a.word("min", "least");
       o.min_delta = a.finite(0);
       o.cooldown = a.count(1);
       o.min_lr = a.within(0, {-1});
       ReduceLROnPlateau{o};
     }},
    {"ModelCheckpoint",
     [](A& a) {
       ModelCheckpointOptions o;
       o.mode = a.word("min", "least");
       o.save_freq = frequency(a);
       o.initial_value_threshold = a.finite(1);
       ModelCheckpoint(a.word("weights", ""), o);
     }},
    {"Frequency by name", [](A& a) { ModelCheckpoint("weights", {.save_freq = a.word("epoch", "epochs")}); }},
    {"LearningRateScheduler",
     [](A& a) {
       LearningRateScheduler::Schedule schedule;
       if (a.number(0, {1}) == 0) schedule = [](int, double rate) { return rate; };
       LearningRateScheduler{schedule};
     }},
    {"CSVLogger",
     [](A& a) {
       CSVLoggerOptions o;
       o.separator = a.word(";", "");
       CSVLogger(a.word("log.csv", ""), o);
     }},
    {"BackupAndRestore",
     [](A& a) {
       BackupAndRestoreOptions o;
       o.save_freq = frequency(a);
       BackupAndRestore(a.word("backup", ""), o);
     }},
    {"TensorBoard",
     [](A& a) {
       TensorBoardOptions o;
       o.update_freq = frequency(a);
       TensorBoard{o};
     }},
    {"LoggingTensorHook",
     [](A& a) {
       LoggingTensorHook({{"loss", "loss"}}, by_steps(a, &LoggingTensorHookOptions::every_n_iter));
     }},
    {"LoggingTensorHook by time",
     [](A& a) {
       LoggingTensorHookOptions o;
       o.every_n_secs = a.within(1, {-1});
       LoggingTensorHook({{"loss", "loss"}}, o);
     }},
    {"StepCounterHook", [](A& a) { StepCounterHook(by_steps(a, &StepCounterHookOptions::every_n_steps)); }},
    {"StopAtStepHook", [](A& a) { StopAtStepHook(by_steps(a, &StopAtStepHookOptions::last_step)); }},
    {"StopAtStepHook of both",
     [](A& a) {
       StopAtStepHookOptions o;
       o.num_steps = a.number(1, {0, -1});
       o.last_step = a.number(0, {1});
       StopAtStepHook{o};
     }},
    {"CheckpointSaverHook",
     [](A& a) {
       auto o = by_steps(a, &CheckpointSaverHookOptions::save_steps);
       o.keep_checkpoint_max = a.count(3);
       o.checkpoint_basename = a.word("model.ckpt", "");
       CheckpointSaverHook(a.word("directory", ""), o);
     }},
    {"SummarySaverHook",
     [](A& a) {
       SummarySaverHook("directory", {{"loss", "loss"}}, by_steps(a, &SummarySaverHookOptions::save_steps));
     }},
    {"ExamplesPerSecondHook",
     [](A& a) {
       const int64_t batch = a.number(8, {0, -1, kLeast});
       auto o = by_steps(a, &ExamplesPerSecondHookOptions::every_n_steps);
       o.warm_steps = a.number(1, {-1});
       ExamplesPerSecondHook(batch, o);
     }},
    {"stop_if_no_decrease_hook",
     [](A& a) {
       const int64_t steps = a.number(10, {-1, kLeast});
       stop_if_no_decrease_hook("loss", steps, {.min_steps = a.number(1, {-1})});
     }},
    {"stop_if_higher_hook",
     [](A& a) {
       const double threshold = a.no_nan(0.5);
       stop_if_higher_hook("accuracy", threshold, {.min_steps = a.number(1, {-1})});
     }},
};

}  // namespace

const std::vector<Function>& callback_functions() { return kCallbacks; }

}  // namespace tenon::public_arguments
