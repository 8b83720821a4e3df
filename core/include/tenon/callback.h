// What is called around training, evaluation and prediction: Keras's callbacks and Estimator's hooks are one seam.
//
//   struct Stop : Callback {                                   // one of one's own
//     void on_epoch_end(TrainingRun& run, int, Logs& logs) override {
//       if (logs["val_loss"] < 0.1) run.stop();
//     }
//   };
//   model.fit(train, {.epochs = 20, .callbacks = {Stop(), EarlyStopping({.patience = 3})}});
//   estimator.train({.input = data, .max_steps = 1000, .hooks = {&stop}});
//
// All of it is called on the thread that called fit() or train(), at step boundaries: between two calls of the device,
// each of which does up to steps_per_execution (Estimator: iterations_per_loop) steps. What a callback throws ends the
// call with an error that names the callback; what was trained until then stays as it is.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/array.h"
#include "tenon/status.h"
#include "tenon/throughput.h"

namespace tenon {

struct GraphNode;     // tenon/graph_node.h
struct TrainingSite;  // what the core's own hooks look into

// "loss", the metrics by name; at the end of an epoch those of validation too, "val_loss".
using Logs = std::map<std::string, double>;

// The training that a callback is called by. It lives as long as the call of fit() or train(). All functions throw
// Error.
class TrainingRun {
 public:
  virtual ~TrainingRun() = default;

  virtual int64_t step() const = 0;                      // updates so far, those of earlier calls among them
  virtual int epochs() const { return 1; }               // that were asked for
  virtual int64_t steps_per_epoch() const { return 0; }  // of evaluation and prediction: all; 0: not known yet
  // Each step's loss in the last call of the device.
  virtual std::span<const float> losses() const = 0;
  // The same of what an Estimator's model function gives to be looked at (EstimatorSpec::training_tensors): the names,
  // and each step's values, none of another name. Logs have their means, as that of the loss.
  virtual std::vector<std::string> tensors() const { return {}; }
  virtual std::span<const float> values(std::string_view /*tensor*/) const { return {}; }
  virtual const std::string& device() const = 0;
  // The step as it was traced; none before that is done.
  virtual std::vector<GraphNode> graph() const;
  // How fast this call of fit() or train() was so far, without evaluation, and whether the input or the device is the
  // limit.
  virtual Throughput throughput() const { return {}; }

  // How long a step would take on the machine that an emulating device stands for; 0: nothing is predicted.
  virtual double predicted_step_ms() const { return 0; }

  // Ends training at this step boundary; of fit() the epoch too, without validation.
  virtual void stop() = 0;

  // Variables by name. `weights` are the model's, moving averages among them; all others are optimizers' and counters.
  virtual std::vector<std::string> variables() const = 0;
  virtual std::vector<std::string> weights() const = 0;
  virtual Array read(std::string_view variable) const = 0;
  virtual void write(std::string_view variable, const Array& value) = 0;

  // The optimizer's averages, as variables by the weights that they are of: none without use_ema. Nothing where the run
  // does not know.
  virtual std::optional<std::map<std::string, std::string>> averages() const { return std::nullopt; }

  // The optimizer's, as the next step uses it. A schedule gives its value and cannot be set.
  virtual double learning_rate() const = 0;
  virtual void set_learning_rate(double value) = 0;

  // All variables, or the model's weights alone, to files: Model::save, Model::save_weights. Each is there whole or not
  // at all.
  virtual void save(const std::string& path) = 0;
  virtual void save_weights(const std::string& path) = 0;
  virtual void load(const std::string& path) = 0;

  // What evaluations gave before this training, by step, where that is kept: in model_dir/eval of an Estimator.
  virtual std::map<int64_t, Logs> evaluations() const { return {}; }

  // A line for the user, where the run shows its progress.
  virtual void say(const std::string& line) = 0;

  // From on_train_begin: epochs before this one are not done again. An error where the run has no epochs to begin at.
  virtual void set_initial_epoch(int /*epoch*/) {
    throw Error(Status(Code::kUnsupported, "this training cannot begin at a later epoch"));
  }
  // While a program of an Estimator trains; null otherwise.
  virtual TrainingSite* site() { return nullptr; }
};

class Callback {
 public:
  virtual ~Callback() = default;

  // How many steps the next call of the device may do at most from this step on, 1 or more: so that a callback is
  // called at the steps that it needs.
  virtual int64_t most_steps(int64_t /*step*/) const { return std::numeric_limits<int64_t>::max(); }

  // Whether the next on_train_batch_end or on_test_batch_end looks at its logs: their means take time, and are of an
  // earlier batch where no callback asks for them.
  virtual bool needs_logs() const { return true; }

  // A loss that is not finite ends an Estimator's training with an error, unless a callback says that it is enough to
  // end it.
  virtual bool ends_at_bad_loss() const { return false; }

  virtual void on_train_begin(TrainingRun& /*run*/) {}
  virtual void on_train_end(TrainingRun& /*run*/, const Logs& /*logs*/) {}
  // In the place of on_train_end where the call ends with an error or is interrupted. What it throws is lost.
  virtual void on_train_error(TrainingRun& /*run*/, const Status& /*why*/) {}
  // Epochs count from 0.
  virtual void on_epoch_begin(TrainingRun& /*run*/, int /*epoch*/) {}
  // What is added to logs is in the History, and later callbacks see it.
  virtual void on_epoch_end(TrainingRun& /*run*/, int /*epoch*/, Logs& /*logs*/) {}
  // Once a call of the device. `batch`: the first, or the last, batch of it, in its epoch, from 0; logs are means of
  // the epoch so far.
  virtual void on_train_batch_begin(TrainingRun& /*run*/, int64_t /*batch*/) {}
  virtual void on_train_batch_end(TrainingRun& /*run*/, int64_t /*batch*/, const Logs& /*logs*/) {}

  virtual void on_test_begin(TrainingRun& /*run*/) {}
  virtual void on_test_end(TrainingRun& /*run*/, const Logs& /*logs*/) {}
  // As on_train_batch_begin: before each call of the device, of up to steps_per_execution batches.
  virtual void on_test_batch_begin(TrainingRun& /*run*/, int64_t /*batch*/) {}
  virtual void on_test_batch_end(TrainingRun& /*run*/, int64_t /*batch*/, const Logs& /*logs*/) {}
  virtual void on_predict_begin(TrainingRun& /*run*/) {}
  virtual void on_predict_end(TrainingRun& /*run*/) {}
  virtual void on_predict_batch_begin(TrainingRun& /*run*/, int64_t /*batch*/) {}
  virtual void on_predict_batch_end(TrainingRun& /*run*/, int64_t /*batch*/) {}
};

// A callback by value, which is kept, or a variable of the caller's, which has to live until the call returns and can
// be asked afterwards: `EarlyStopping stop; model.fit(x, y, {.callbacks = {stop}}); stop.stopped_epoch()`.
class AnyCallback {
 public:
  template <class T>
  requires std::derived_from<std::remove_cvref_t<T>, Callback> AnyCallback(
      T&& callback) {  // NOLINT: implicit by design
    if constexpr (std::is_lvalue_reference_v<T>)
      callback_ = std::shared_ptr<Callback>(std::shared_ptr<void>(), &callback);
    else
      callback_ = std::make_shared<std::remove_cvref_t<T>>(std::forward<T>(callback));
  }
  AnyCallback(Callback* callback) : callback_(std::shared_ptr<void>(), callback) {}  // NOLINT: the caller's
  template <std::derived_from<Callback> T>
  AnyCallback(std::shared_ptr<T> callback) : callback_(std::move(callback)) {}  // NOLINT
  Callback& operator*() const { return *callback_; }
  Callback* operator->() const { return callback_.get(); }

 private:
  std::shared_ptr<Callback> callback_;
};
using Callbacks = std::vector<AnyCallback>;

}  // namespace tenon
