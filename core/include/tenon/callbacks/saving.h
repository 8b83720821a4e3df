// Callbacks that save the model, or the state of a training that may be cut short (tenon/callbacks.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tenon/callbacks/frequency.h"
#include "tenon/callbacks/monitor.h"

namespace tenon {

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

struct BackupAndRestoreOptions {
  Frequency save_freq = "epoch";
  bool delete_checkpoint = true;  // once training has come to its end
};

// Training that was cut short goes on in the next run: all variables are backed up in the directory, and read from
// there when training begins, at the beginning of the epoch that it stopped in. `training_metadata.json` there names
// the state; it is replaced after the state is complete, so that what it names is always whole. (Keras's
// double_checkpoint is always on.)
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

}  // namespace tenon
