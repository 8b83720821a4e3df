// What callbacks see of an Estimator's training, and what they ask of it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "callback/callback_list.h"
#include "tenon/graph_node.h"
#include "train/estimator_impl.h"

namespace tenon {

// One call of train(), or of train_and_evaluate(), of which each stretch between evaluations is an epoch. The loop calls
// the functions that return a Status; callbacks the others, which throw.
class Estimator::Run final : public TrainingRun {
 public:
  // `epochs` 0: of train(), which is one epoch that nothing evaluates. `evaluation`: EvalSpec::name.
  Run(Impl& m, const Callbacks& callbacks, int epochs, std::string evaluation = {})
      : m_(m), callbacks_(callbacks), evaluation_(std::move(evaluation)), epochs_(epochs) {}

  // A stretch of training, as long as its program is there.
  struct Stretch {
    const Graph& graph;
    const std::vector<GraphNode>& nodes;  // as it was traced
    double predicted_step_ms;
    TrainingSite& site;
    int64_t steps;                 // that it does at most; 0: not known
    std::function<Status()> save;  // a checkpoint of model_dir; empty: there is none
    std::function<Throughput()> throughput;
    // Sets a scalar of the program's steps; and reads results of the last call that did so many steps.
    std::function<void(const std::string& scalar, double value)> set_number;
  };
  Status begin(Stretch stretch);
  Result<int64_t> most_steps() const { return callbacks_.most_steps(m_.step); }
  Result<bool> ends_at_bad_loss() const { return callbacks_.ends_at_bad_loss(); }
  Status before_call() {
    return callbacks_.each([&](Callback& c) { c.on_train_batch_begin(*this, batch_); });
  }
  // What the model function gives to be looked at: its names, once a stretch has begun.
  const std::vector<std::string>& watched() const { return tensors_; }
  bool has_callbacks() const { return !callbacks_.empty(); }
  using Values = std::map<std::string, std::vector<float>, std::less<>>;  // of tensors, each step's
  // After a call of the device that led to this step.
  Status after_call(int64_t step, std::span<const float> losses, Values values = {});
  // Training has come to its end with this stretch; or evaluation follows.
  Status end();
  Status before_evaluation();
  Status evaluated(const EvalResult& result);
  Status end_training();  // of train_and_evaluate()
  // The end of the call by an error, which this returns; callbacks are told once. REQUIRED: the stretch's site is there still.
  Status failed(Status why);
  bool stopped() const { return stopped_; }
  // A loss was bad, and that is the end of training: nothing is saved any more.
  void diverge() { stopped_ = diverged_ = true; }
  bool diverged() const { return diverged_; }
  bool evaluates() const { return epochs_ > 0; }

  int64_t step() const override { return m_.step >= 0 ? m_.step : step_; }
  int epochs() const override { return std::max(epochs_, 1); }
  int64_t steps_per_epoch() const override { return steps_; }
  std::span<const float> losses() const override { return losses_; }
  std::vector<std::string> tensors() const override { return tensors_; }
  std::span<const float> values(std::string_view tensor) const override;
  const std::string& device() const override { return device_; }
  std::vector<GraphNode> graph() const override { return nodes_ ? *nodes_ : std::vector<GraphNode>(); }
  Throughput throughput() const override { return throughput_ ? past_ + throughput_() : past_; }
  double predicted_step_ms() const override { return predicted_step_ms_; }
  void stop() override { stopped_ = true; }
  std::vector<std::string> variables() const override;
  std::vector<std::string> weights() const override { return weights_; }
  Array read(std::string_view variable) const override;
  void write(std::string_view variable, const Array& value) override;
  double learning_rate() const override;
  void set_learning_rate(double value) override;
  // Files as Model::save writes them; in model_dir the Estimator's own checkpoints.
  void save(const std::string& path) override;
  void save_weights(const std::string& path) override;
  void load(const std::string& path) override;
  std::map<int64_t, Logs> evaluations() const override { return Summaries::evaluations(m_.config, evaluation_); }
  void say(const std::string& line) override { m_.info(line); }
  TrainingSite* site() override { return site_; }

 private:
  VariableStore& states() const;
  void leave();  // the program goes
  Logs means() const;
  void write_file(const std::string& path, const std::vector<std::string>* only);

  Impl& m_;
  CallbackList callbacks_;
  std::string evaluation_;
  int epochs_, epoch_ = 0;
  bool begun_ = false, stopped_ = false, diverged_ = false;
  TrainingSite* site_ = nullptr;
  const std::vector<GraphNode>* nodes_ = nullptr;  // while the program is there
  double predicted_step_ms_ = 0;
  std::function<Status()> save_;
  std::function<Throughput()> throughput_;
  Throughput past_;  // of the stretches before
  std::vector<std::string> weights_;
  std::string device_;
  int64_t steps_ = 0, step_ = 0, batch_ = 0;
  std::vector<float> losses_;
  double loss_sum_ = 0;
  std::vector<std::string> tensors_;
  Values values_;                       // of the last call
  std::map<std::string, double> sums_;  // of values, since the stretch began
  std::function<void(const std::string& scalar, double value)> set_number_;
  std::optional<double> rate_;  // of a model function whose learning rate is a number
  bool rate_is_set_ = false;    // by a callback
};

}  // namespace tenon
