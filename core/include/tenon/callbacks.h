// Keras's callbacks, with its names and defaults.
//
//   EarlyStopping stop({.patience = 3, .restore_best_weights = true});
//   model.fit(train, {.epochs = 20, .validation_data = test, .callbacks = {stop, ModelCheckpoint("m_{epoch:02d}")}});
//   if (stop.stopped_epoch()) print(*stop.stopped_epoch(), stop.best());
//
// An Estimator takes them too: a call of train() is one epoch, and in train_and_evaluate() an epoch reaches from one
// evaluation to the next, the results of which are its "val_loss" and so on.
//
// Constructors throw tenon::Error that names the callback and the argument. One object serves one call at a time and may be
// given to the next, where it begins anew. `verbose` 1 says what it does, in Keras's words. Files and directories that are
// missing are made; each file is there whole or not at all.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/callback.h"
#include "tenon/params.h"

namespace tenon {

class RunWriter;    // of what TensorBoard reads
class ProgressBar;  // what ProgbarLogger draws

// What is shown of training: kAuto is a bar on a terminal and a line an epoch elsewhere. Callbacks always say what their own
// `verbose` asks for.
enum class Verbose : uint8_t { kAuto, kSilent, kBar, kLine };

// Keras's progress bar on standard output. fit(), evaluate() and predict() add one behind all other callbacks, so that it shows
// what these put into the logs; one that is given takes its place. With an Estimator it shows what an epoch is there.
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

// What several callbacks watch: one number of the logs at the end of each epoch. NaN is never better than anything, not even
// than nothing; in Keras a first NaN stays the best for ever.
class MonitorCallback : public Callback {
 protected:
  // `mode` is "min", "max", or "auto", which knows by the name what is better and is an error for a name that it does not know.
  MonitorCallback(std::string owner, std::string monitor, const std::string& mode, double min_delta);
  // None where the logs lack it, which is said once: validation need not be there in each epoch.
  std::optional<double> monitored(TrainingRun& run, int epoch, const Logs& logs);
  bool is_better(double value, std::optional<double> than) const;  // by more than min_delta
  const std::string& monitor() const { return monitor_; }
  const std::string& owner() const { return owner_; }

 private:
  std::string owner_, monitor_;
  bool more_is_better_;
  double min_delta_;
  bool told_ = false;
};

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;  // what counts as better is better by more than this
  int patience = 0;      // epochs without anything better, after which training stops; never in the first epoch
  int verbose = 0;
  std::string mode = "auto";
  std::optional<double> baseline = {};  // epochs that are not better than this count as waiting
  bool restore_best_weights = false;    // at the end of training, whether it stopped or not
  int start_from_epoch = 0;             // earlier ones are not looked at
};

class EarlyStopping : public MonitorCallback {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options = {});
  std::optional<int> stopped_epoch() const { return stopped_epoch_; }  // from 0; none: it did not stop
  std::optional<double> best() const { return best_; }                 // none: there was no number yet
  int best_epoch() const { return best_epoch_; }
  int wait() const { return wait_; }  // epochs since the best

  void on_train_begin(TrainingRun& run) override;
  void on_epoch_end(TrainingRun& run, int epoch, Logs& logs) override;
  void on_train_end(TrainingRun& run, const Logs& logs) override;

 private:
  EarlyStoppingOptions options_;
  int wait_ = 0, best_epoch_ = 0;
  std::optional<int> stopped_epoch_;
  std::optional<double> best_;
  Arrays best_weights_;
};

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;  // 0 or more, less than 1
  int patience = 10;
  int verbose = 0;
  std::string mode = "auto";
  double min_delta = 1e-4;
  int cooldown = 0;  // epochs after a reduction that are not counted
  double min_lr = 0;
};

// Multiplies the learning rate by `factor` after `patience` epochs without anything better. Logs "learning_rate", as the
// epoch had it.
class ReduceLROnPlateau : public MonitorCallback {
 public:
  explicit ReduceLROnPlateau(ReduceLROnPlateauOptions options = {});
  std::optional<double> best() const { return best_; }
  int wait() const { return wait_; }

  void on_train_begin(TrainingRun& run) override;
  void on_epoch_end(TrainingRun& run, int epoch, Logs& logs) override;

 private:
  void reduce(TrainingRun& run, int epoch, double rate);
  ReduceLROnPlateauOptions options_;
  int wait_ = 0, cooling_ = 0;
  std::optional<double> best_;
};

// "epoch", or every so many batches, counted across epochs; then at the end of the call of the device that reaches them.
class Frequency {
 public:
  Frequency(const char* epoch) : text_(epoch) {}     // NOLINT: implicit by design
  Frequency(int batches) : batches_(batches) {}      // NOLINT
  Frequency(int64_t batches) : batches_(batches) {}  // NOLINT
  const std::string& text() const { return text_; }  // empty: batches
  int64_t batches() const { return batches_; }

 private:
  std::string text_;
  int64_t batches_ = 0;
};

// Which batches a Frequency is due at.
class BatchCount {
 public:
  // Throws Error unless it is "epoch" or 1 or more; `what` is "CALLBACK: ARGUMENT".
  BatchCount(const std::string& what, const Frequency& every);
  bool by_epoch() const { return every_ == 0; }
  void begin_epoch() { last_ = -1; }
  // After the call of the device whose last batch that was.
  bool due(int64_t batch);

 private:
  int64_t every_ = 0, seen_ = 0, last_ = -1;
};

struct ModelCheckpointOptions {
  std::string monitor = "val_loss";
  int verbose = 0;
  bool save_best_only = false;
  bool save_weights_only = false;
  std::string mode = "auto";
  Frequency save_freq = "epoch";
  std::optional<double> initial_value_threshold = {};  // only what is better is saved
};

// Saves the model. The path may have {epoch}, {batch} (both from 1) and the names of logs in it, with a format as
// {epoch:02d} or {val_loss:.2f}.
class ModelCheckpoint : public MonitorCallback {
 public:
  explicit ModelCheckpoint(std::string filepath, ModelCheckpointOptions options = {});
  std::optional<double> best() const { return best_; }
  const std::string& last_saved() const { return last_saved_; }  // a path; empty: none was saved

  void on_train_begin(TrainingRun& run) override;
  void on_epoch_begin(TrainingRun& run, int epoch) override;
  void on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) override;
  void on_epoch_end(TrainingRun& run, int epoch, Logs& logs) override;

 private:
  void save(TrainingRun& run, int epoch, std::optional<int64_t> batch, const Logs& logs);
  bool wanted(TrainingRun& run, int epoch, const Logs& logs, const std::string& path);
  std::string filepath_;
  ModelCheckpointOptions options_;
  BatchCount count_;
  int epoch_ = 0;
  std::optional<double> best_;
  std::string last_saved_;
};

struct LearningRateSchedulerOptions {
  int verbose = 0;
};

// Sets the learning rate at the beginning of each epoch (from 0). Logs "learning_rate".
class LearningRateScheduler : public Callback {
 public:
  using Schedule = std::function<double(int epoch, double learning_rate)>;
  explicit LearningRateScheduler(Schedule schedule, LearningRateSchedulerOptions options = {});
  explicit LearningRateScheduler(std::function<double(int epoch)> schedule, LearningRateSchedulerOptions options = {});

  void on_epoch_begin(TrainingRun& run, int epoch) override;
  void on_epoch_end(TrainingRun& run, int epoch, Logs& logs) override;

 private:
  Schedule schedule_;
  LearningRateSchedulerOptions options_;
};

struct CSVLoggerOptions {
  std::string separator = ",";
  bool append = false;  // to what is in the file
};

// A row of the logs an epoch: `epoch` from 0, then the names of the first epoch's logs in order; lines end in CR LF. Without
// validation there, columns val_* hold NA until they are known. The file is replaced at each epoch.
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

struct BackupAndRestoreOptions {
  Frequency save_freq = "epoch";
  bool delete_checkpoint = true;  // once training has come to its end
};

// Training that was cut short goes on in the next run: all variables are backed up in the directory, and read from there
// when training begins, at the beginning of the epoch that it stopped in. `training_metadata.json` there names the state; it
// is replaced after the state is complete, so that what it names is always whole. (Keras's double_checkpoint is always on.)
class BackupAndRestore : public Callback {
 public:
  explicit BackupAndRestore(std::string backup_dir, BackupAndRestoreOptions options = {});

  void on_train_begin(TrainingRun& run) override;
  void on_epoch_begin(TrainingRun& run, int epoch) override;
  void on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) override;
  void on_epoch_end(TrainingRun& run, int epoch, Logs& logs) override;
  void on_train_end(TrainingRun& run, const Logs& logs) override;

 private:
  void back_up(TrainingRun& run, int epoch, int64_t batch);
  void remove_all_but(const std::string& state) const;
  std::string metadata() const { return directory_ + "/training_metadata.json"; }
  std::string directory_;
  BackupAndRestoreOptions options_;
  BatchCount count_;
  int epoch_ = 0;
  int64_t saved_ = 0;  // states that were, so that each has a name of its own
};

struct TensorBoardOptions {
  std::string log_dir = "logs";
  int histogram_freq = 0;     // epochs from one histogram of each weight to the next; 0: none
  bool write_graph = true;    // the step of training
  bool write_images = false;  // with each histogram the weight as an image, from its least number to its largest
  bool write_steps_per_second = false;  // of training, without evaluation
  Frequency update_freq = "epoch";      // or every so many batches too
};

// Summaries for TensorBoard (tenon/summary.h) by Keras's names: epoch_loss and so on, and epoch_learning_rate where it can be
// read, over epochs in LOG_DIR/train and, of val_loss and so on, in LOG_DIR/validation; there evaluation_loss_vs_iterations
// over steps too. With batches, batch_loss and so on over steps. Beside Keras's: epoch_seconds, how long training took without
// evaluation, with epoch_seconds_predicted on the machine that an emulating device stands for, and the text `device`; `tenon
// plot` draws from them.
// A directory that cannot be written to is an error before the first step. Later training goes on, as when the disk is full: a
// line says that summaries are left out, once until one can be written again. So it says once that another run writes there.
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

// The hyperparameters of a training for TensorBoard, and whether it came to its end: `hp.KerasCallback`. What TensorBoard({.log_dir
// = LOG_DIR}), or an Estimator with that model_dir, writes are its metrics. Written as TensorBoard does.
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

struct TerminateOnNaNOptions {
  bool raise_error = false;  // else training ends as if it were complete
};

// Ends training at a loss that is NaN or infinite, of any step. An Estimator goes back to its newest checkpoint.
class TerminateOnNaN : public Callback {
 public:
  explicit TerminateOnNaN(TerminateOnNaNOptions options = {}) : options_(options) {}
  bool ends_at_bad_loss() const override { return !options_.raise_error; }
  void on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) override;

 private:
  TerminateOnNaNOptions options_;
};

struct SwapEMAWeightsOptions {
  bool swap_on_epoch = false;  // at the end of epochs too, back at the beginning of the next: for callbacks that save
  // The variable that holds the average of a weight: its name behind the weight's..
  std::string suffix = "/ExponentialMovingAverage";
  // .. or by the weight's name. Weights that are not here, or have no such variable, are not swapped.
  std::map<std::string, std::string> averages = {};
};

// Evaluates and predicts with the moving averages of the weights. It is an error where no weight has one.
class SwapEMAWeights : public Callback {
 public:
  explicit SwapEMAWeights(SwapEMAWeightsOptions options = {}) : options_(std::move(options)) {}

  void on_train_begin(TrainingRun&) override { swapped_ = false; }
  void on_epoch_begin(TrainingRun& run, int epoch) override;
  void on_epoch_end(TrainingRun& run, int epoch, Logs& logs) override;
  void on_test_begin(TrainingRun& run) override { swap(run, true); }
  void on_test_end(TrainingRun& run, const Logs&) override { swap(run, false); }
  void on_predict_begin(TrainingRun& run) override { swap(run, true); }
  void on_predict_end(TrainingRun& run) override { swap(run, false); }

 private:
  void swap(TrainingRun& run, bool averages);
  std::vector<std::pair<std::string, std::string>> pairs(const TrainingRun& run) const;
  SwapEMAWeightsOptions options_;
  bool swapped_ = false;
  Arrays kept_;  // weights of 16 bits meanwhile, by name
};

struct LambdaCallbackOptions {
  std::function<void(TrainingRun& run)> on_train_begin = {};
  std::function<void(TrainingRun& run, const Logs& logs)> on_train_end = {};
  std::function<void(TrainingRun& run, int epoch)> on_epoch_begin = {};
  std::function<void(TrainingRun& run, int epoch, Logs& logs)> on_epoch_end = {};
  std::function<void(TrainingRun& run, int64_t batch)> on_train_batch_begin = {};
  std::function<void(TrainingRun& run, int64_t batch, const Logs& logs)> on_train_batch_end = {};
  std::function<void(TrainingRun& run)> on_test_begin = {};
  std::function<void(TrainingRun& run, const Logs& logs)> on_test_end = {};
  std::function<void(TrainingRun& run, int64_t batch)> on_test_batch_begin = {};
  std::function<void(TrainingRun& run, int64_t batch, const Logs& logs)> on_test_batch_end = {};
  std::function<void(TrainingRun& run)> on_predict_begin = {};
  std::function<void(TrainingRun& run)> on_predict_end = {};
  std::function<void(TrainingRun& run, int64_t batch)> on_predict_batch_begin = {};
  std::function<void(TrainingRun& run, int64_t batch)> on_predict_batch_end = {};
};

// A callback of functions, each of which may be left out.
class LambdaCallback : public Callback {
 public:
  explicit LambdaCallback(LambdaCallbackOptions options) : options_(std::move(options)) {}

  void on_train_begin(TrainingRun& run) override;
  void on_train_end(TrainingRun& run, const Logs& logs) override;
  void on_epoch_begin(TrainingRun& run, int epoch) override;
  void on_epoch_end(TrainingRun& run, int epoch, Logs& logs) override;
  void on_train_batch_begin(TrainingRun& run, int64_t batch) override;
  void on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) override;
  void on_test_begin(TrainingRun& run) override;
  void on_test_end(TrainingRun& run, const Logs& logs) override;
  void on_test_batch_begin(TrainingRun& run, int64_t batch) override;
  void on_test_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) override;
  void on_predict_begin(TrainingRun& run) override;
  void on_predict_end(TrainingRun& run) override;
  void on_predict_batch_begin(TrainingRun& run, int64_t batch) override;
  void on_predict_batch_end(TrainingRun& run, int64_t batch) override;

 private:
  LambdaCallbackOptions options_;
};

}  // namespace tenon
