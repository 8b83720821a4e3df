// A call of fit, evaluate or predict, as its callbacks see it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "callback/callback_list.h"
#include "model/model_training.h"
#include "tenon/callbacks.h"

namespace tenon {

// As TrainingRun tells it: 0 where nobody knows before the end.
inline int64_t known_steps(int64_t batches) { return batches > 0 ? batches : 0; }

class ModelRun : public TrainingRun {
 public:
  ModelRun(Model& model, ModelTraining& training, const Callbacks& callbacks, Verbose verbose);

  int64_t step() const override { return step_; }
  int epochs() const override { return epochs_; }
  int64_t steps_per_epoch() const override { return steps_per_epoch_; }
  std::span<const float> losses() const override { return losses_; }
  const std::string& device() const override { return training_.strategy.device(); }
  std::vector<GraphNode> graph() const override {
    return step_of_fit_ ? step_of_fit_->graph() : std::vector<GraphNode>();
  }
  double predicted_step_ms() const override;
  void stop() override { stopped_ = true; }
  std::vector<std::string> variables() const override;
  std::vector<std::string> weights() const override { return training_.weights(); }
  Array read(std::string_view variable) const override { return training_.strategy.read(variable); }
  void write(std::string_view variable, const Array& value) override { training_.strategy.write(variable, value); }
  std::optional<std::map<std::string, std::string>> averages() const override { return training_.averages(); }
  double learning_rate() const override { return training_.learning_rate(); }
  void set_learning_rate(double value) override { training_.set_learning_rate(value); }
  void save(const std::string& path) override { model_.save(path); }
  void save_weights(const std::string& path) override { model_.save_weights(path); }
  void load(const std::string& path) override {
    model_.load(path);
    count_steps();
  }
  void say(const std::string& line) override;

  // Epochs [initial_epoch(), epochs) are to be done.
  void begin_fit(int initial_epoch, int epochs, int64_t steps_per_epoch, const Function& step);
  Throughput throughput() const override { return step_of_fit_ ? step_of_fit_->throughput() - before_ : Throughput(); }
  int initial_epoch() const { return initial_epoch_; }
  void set_initial_epoch(int epoch) override;
  // Takes over how many updates there were: a callback may have loaded others, or trained.
  void count_steps() { step_ = training_.steps(); }
  bool stopped() const { return stopped_; }
  bool needs_logs() const { return callbacks_.needs_logs(); }
  // Before evaluation, prediction or an epoch of so many batches; 0: not known.
  void expect(int64_t steps) { steps_per_epoch_ = steps; }
  // How many steps the callbacks allow.
  int64_t most_steps() const;
  // What a call of the device did: a row a step, the loss first.
  void did(const Array& rows, int64_t steps);
  // Calls each of the callbacks; what one throws becomes an Error that names it.
  template <class Call>
  void call(const Call& call) {
    if (!callbacks_.empty()) check(callbacks_.each(call));
  }
  // Does the work of the call; the callbacks are told of what ends it.
  template <class Work>
  auto guarded(const Work& work) {
    try {
      return work();
    } catch (const Error& e) {
      callbacks_.on_train_error(*this, e.status());
      throw;
    }
  }
  // The loss and the metrics over the data, `steps` batches of them; 0: all. `what` is for messages.
  Logs test(const Dataset& data, int64_t steps, const char* what);

 private:
  Model& model_;
  ModelTraining& training_;
  const std::shared_ptr<ModelTraining> held_ = training_.shared_from_this();  // a callback may compile the model again
  CallbackList callbacks_;
  std::optional<Function> step_of_fit_;
  Throughput before_;  // of earlier calls
  int64_t step_ = 0, steps_per_epoch_ = 0;
  int epochs_ = 1, initial_epoch_ = 0;
  bool stopped_ = false, counted_ = false, beginning_ = false;
  std::vector<float> losses_;
};

}  // namespace tenon
