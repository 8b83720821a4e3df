// Callbacks that change training: its rate, its end, the weights that it is judged by, or whatever a function does
// (tenon/callbacks.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tenon/callback.h"

namespace tenon {

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
