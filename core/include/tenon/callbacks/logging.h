// Callbacks that show training, or write it down (tenon/callbacks.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tenon/callback.h"
#include "tenon/callbacks/frequency.h"
#include "tenon/params.h"

namespace tenon {

class RunWriter;    // of what TensorBoard reads
class ProgressBar;  // what ProgbarLogger draws

// What is shown of training: kAuto is a bar on a terminal and a line an epoch elsewhere. Callbacks always say what
// their own `verbose` asks for.
enum class Verbose : uint8_t { kAuto, kSilent, kBar, kLine };

// Keras's progress bar on standard output. fit(), evaluate() and predict() add one behind all other callbacks, so that
// it shows what these put into the logs; one that is given takes its place. With an Estimator it shows what an epoch is
// there.
class ProgbarLogger : public Callback {
 public:
  explicit ProgbarLogger(Verbose verbose = Verbose::kAuto);

  bool needs_logs() const override;
  void on_train_begin(TrainingRun& run) override;
  void on_train_end(TrainingRun& run, const Logs& logs) override;
  void on_train_error(TrainingRun& run, const Status& why) override;
  void on_epoch_begin(TrainingRun& run, int epoch) override;
  void on_epoch_end(TrainingRun& run, int epoch, Logs& logs) override;
  void on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) override;
  void on_test_begin(TrainingRun& run) override;
  void on_test_end(TrainingRun& run, const Logs& logs) override;
  void on_test_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) override;
  void on_predict_begin(TrainingRun& run) override;
  void on_predict_end(TrainingRun& run) override;
  void on_predict_batch_end(TrainingRun& run, int64_t batch) override;

 private:
  void begin(const TrainingRun& run);
  std::shared_ptr<ProgressBar> bar_;
  int64_t done_ = 0;
  bool trains_ = false;  // evaluation in its midst shows nothing
};

struct CSVLoggerOptions {
  std::string separator = ",";
  bool append = false;  // to what is in the file
};

// A row of the logs an epoch: `epoch` from 0, then the names of the first epoch's logs in order; lines end in CR LF.
// Without validation there, columns val_* hold NA until they are known. The file is replaced at each epoch.
class CSVLogger : public Callback {
 public:
  explicit CSVLogger(std::string filename, CSVLoggerOptions options = {});

  void on_train_begin(TrainingRun& run) override;
  void on_epoch_end(TrainingRun& run, int epoch, Logs& logs) override;

 private:
  std::string row(const std::vector<std::string>& fields) const;
  std::string filename_;
  CSVLoggerOptions options_;
  std::string contents_;
  std::vector<std::string> names_;
};

struct TensorBoardOptions {
  std::string log_dir = "logs";
  int histogram_freq = 0;     // epochs from one histogram of each weight to the next; 0: none
  bool write_graph = true;    // the step of training
  bool write_images = false;  // with each histogram the weight as an image, from its least number to its largest
  bool write_steps_per_second = false;  // of training, without evaluation
  Frequency update_freq = "epoch";      // or every so many batches too
};

// Summaries for TensorBoard (tenon/summary.h) by Keras's names: epoch_loss and so on, and epoch_learning_rate where it
// can be read, over epochs in LOG_DIR/train and, of val_loss and so on, in LOG_DIR/validation; there
// evaluation_loss_vs_iterations over steps too. With batches, batch_loss and so on over steps. Beside Keras's:
// epoch_seconds, how long training took without evaluation, with epoch_seconds_predicted on the machine that an
// emulating device stands for, and the text `device`; `tenon plot` draws from them.
// A directory that cannot be written to is an error before the first step. Later training goes on, as when the disk is
// full: a line says that summaries are left out, once until one can be written again. So it says once that another run
// writes there.
class TensorBoard : public Callback {
 public:
  explicit TensorBoard(TensorBoardOptions options = {});

  void on_train_begin(TrainingRun& run) override;
  void on_epoch_begin(TrainingRun& run, int epoch) override;
  void on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) override;
  void on_test_end(TrainingRun& run, const Logs& logs) override;
  void on_epoch_end(TrainingRun& run, int epoch, Logs& logs) override;
  void on_train_end(TrainingRun& run, const Logs& logs) override;
  void on_train_error(TrainingRun& run, const Status& why) override;

 private:
  using Clock = std::chrono::steady_clock;
  void write_speed(TrainingRun& run, int epoch);
  void write_weights(TrainingRun& run, int epoch);
  TensorBoardOptions options_;
  BatchCount count_;
  std::shared_ptr<RunWriter> writer_;
  bool has_graph_ = false;
  int64_t first_step_ = 0, last_step_ = 0;  // of the epoch
  Clock::time_point begun_, trained_;       // the epoch, and its last batch
};

struct HParamsCallbackOptions {
  std::string trial_id = {};  // of repetitions; empty: those with the same values
};

// The hyperparameters of a training for TensorBoard, and whether it came to its end: `hp.KerasCallback`. What
// TensorBoard({.log_dir = LOG_DIR}), or an Estimator with that model_dir, writes are its metrics. Written as
// TensorBoard does.
class HParamsCallback : public Callback {
 public:
  HParamsCallback(std::string log_dir, Params hparams, HParamsCallbackOptions options = {});

  bool needs_logs() const override { return false; }
  void on_train_begin(TrainingRun& run) override;
  void on_train_end(TrainingRun& run, const Logs& logs) override;
  void on_train_error(TrainingRun& run, const Status& why) override;

 private:
  void end(TrainingRun& run, bool success);
  std::string log_dir_;
  Params hparams_;
  HParamsCallbackOptions options_;
  std::shared_ptr<RunWriter> writer_;
};

}  // namespace tenon
