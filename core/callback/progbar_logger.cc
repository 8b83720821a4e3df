#include <cstdio>

#include "base/strings.h"
#include "callback/progress_bar.h"
#include "tenon/callbacks.h"

namespace tenon {

ProgbarLogger::ProgbarLogger(Verbose verbose) : bar_(std::make_shared<ProgressBar>(stdout, verbose)) {}

void ProgbarLogger::begin(const TrainingRun& run) {
  done_ = 0;
  bar_->begin(run.steps_per_epoch());
}

bool ProgbarLogger::needs_logs() const { return bar_->due(); }

void ProgbarLogger::on_train_begin(TrainingRun&) { trains_ = true; }
void ProgbarLogger::on_train_end(TrainingRun&, const Logs&) { trains_ = false; }
void ProgbarLogger::on_train_error(TrainingRun&, const Status&) { trains_ = false; }

void ProgbarLogger::on_epoch_begin(TrainingRun& run, int epoch) {
  if (run.epochs() > 1) bar_->line(cat("Epoch ", epoch + 1, "/", run.epochs()));
  begin(run);
}
void ProgbarLogger::on_train_batch_end(TrainingRun&, int64_t batch, const Logs& logs) {
  bar_->update(done_ = batch + 1, logs);
}
void ProgbarLogger::on_epoch_end(TrainingRun&, int, Logs& logs) { bar_->finish(done_, logs); }

void ProgbarLogger::on_test_begin(TrainingRun& run) {
  if (!trains_) begin(run);
}
void ProgbarLogger::on_test_batch_end(TrainingRun&, int64_t batch, const Logs& logs) {
  if (!trains_) bar_->update(done_ = batch + 1, logs);
}
void ProgbarLogger::on_test_end(TrainingRun&, const Logs& logs) {
  if (!trains_) bar_->finish(done_, logs);
}

void ProgbarLogger::on_predict_begin(TrainingRun& run) { begin(run); }
void ProgbarLogger::on_predict_batch_end(TrainingRun&, int64_t batch) { bar_->update(done_ = batch + 1, {}); }
void ProgbarLogger::on_predict_end(TrainingRun&) { bar_->finish(done_, {}); }

}  // namespace tenon
