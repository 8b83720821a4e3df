// Callbacks that watch one number of the logs: whether training goes on, and at which rate (tenon/callbacks.h).
#pragma once

#include <optional>
#include <string>

#include "tenon/callback.h"

namespace tenon {

// What several callbacks watch: one number of the logs at the end of each epoch. NaN is never better than anything, not
// even than nothing; in Keras a first NaN stays the best for ever.
class MonitorCallback : public Callback {
 protected:
  // `mode` is "min", "max", or "auto", which knows by the name what is better and is an error for a name that it does
  // not know.
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

// Multiplies the learning rate by `factor` after `patience` epochs without anything better. Logs "learning_rate", as
// the epoch had it.
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

}  // namespace tenon
