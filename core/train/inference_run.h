// What callbacks see of an Estimator's evaluation or prediction, and what they may ask of it.
#pragma once

#include <string>
#include <vector>

#include "callback/callback_list.h"
#include "train/estimator_impl.h"

namespace tenon {

// Variables can be read; nothing can be changed, as what is looked at is a checkpoint.
class Estimator::InferenceRun final : public TrainingRun {
 public:
  // `what` is for messages: "evaluation".
  InferenceRun(Impl& m, const Callbacks& callbacks, const char* what)
      : m_(m), callbacks_(callbacks), what_(what), device_(m.device->name()) {}

  // `steps`: how many batches there will be; 0: not known.
  void begin(const InferenceStates& at, int64_t steps) { at_ = &at, steps_ = steps; }
  template <class Call>
  Status call(const Call& call) {
    return callbacks_.empty() ? Status() : callbacks_.each([&](Callback& c) { call(c); });
  }
  bool empty() const { return callbacks_.empty(); }
  bool stopped() const { return stopped_; }

  int64_t step() const override { return at_->step; }
  int64_t steps_per_epoch() const override { return steps_; }
  std::span<const float> losses() const override { return {}; }
  const std::string& device() const override { return device_; }
  void stop() override { stopped_ = true; }
  std::vector<std::string> variables() const override { return names(false); }
  std::vector<std::string> weights() const override { return names(true); }
  Array read(std::string_view variable) const override { return at_->states->read(variable).take(); }
  void write(std::string_view, const Array&) override { refuse("a variable cannot be written"); }
  double learning_rate() const override { refuse("there is no learning rate"); }
  void set_learning_rate(double) override { refuse("there is no learning rate"); }
  void save(const std::string&) override { refuse("nothing is saved"); }
  void save_weights(const std::string&) override { refuse("nothing is saved"); }
  void load(const std::string&) override { refuse("nothing is loaded"); }
  std::map<int64_t, Logs> evaluations() const override { return Summaries::evaluations(m_.config, {}); }
  void say(const std::string& line) override { m_.info(line); }

 private:
  [[noreturn]] void refuse(const char* why) const { fail(why, " in ", what_, " of an Estimator"); }
  std::vector<std::string> names(bool weights_alone) const {
    std::vector<std::string> out;
    for (const auto& entry : at_->states->all())
      if (!weights_alone || at_->states->is_weight(entry.first)) out.push_back(entry.first);
    return out;
  }

  Impl& m_;
  CallbackList callbacks_;
  const char* what_;
  std::string device_;
  const InferenceStates* at_ = nullptr;
  int64_t steps_ = 0;
  bool stopped_ = false;
};

}  // namespace tenon
