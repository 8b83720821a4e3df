#include "tenon/estimator.h"

namespace tenon {

void TrainingHook::on_epoch_begin(TrainingRun& run, int) {
  if (run.site()) check(attach(*run.site()));
  begun_ = true;
  begin(run.step());
}

void TrainingHook::on_train_batch_end(TrainingRun& run, int64_t, const Logs&) {
  if (!after_run(run.step(), run.losses())) run.stop();
}

void TrainingHook::leave(const TrainingRun& run) {
  if (std::exchange(begun_, false)) end(run.step());
}

void TrainingHook::on_test_begin(TrainingRun& run) { leave(run); }
void TrainingHook::on_epoch_end(TrainingRun& run, int, Logs&) { leave(run); }
void TrainingHook::on_train_end(TrainingRun& run, const Logs&) { leave(run); }
void TrainingHook::on_train_error(TrainingRun& run, const Status&) { leave(run); }

}  // namespace tenon
