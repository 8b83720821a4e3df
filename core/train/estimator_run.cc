#include "train/estimator_run.h"

#include <numeric>

#include "base/file/file.h"
#include "base/number.h"
#include "step/variables/loaded_tensors.h"

namespace tenon {
namespace {

constexpr std::string_view kLearningRate = "learning_rate", kStepCounter = "global_step";

}  // namespace

Status Estimator::Run::begin(Stretch stretch) {
  site_ = &stretch.site;
  nodes_ = &stretch.nodes;
  predicted_step_ms_ = stretch.predicted_step_ms;
  save_ = std::move(stretch.save);
  throughput_ = std::move(stretch.throughput);
  device_ = m_.device->name();
  steps_ = stretch.steps;
  step_ = m_.step;
  batch_ = 0;
  loss_sum_ = 0;
  losses_.clear();
  tensors_ = training_tensors(stretch.graph);
  values_.clear();
  sums_.clear();
  set_number_ = std::move(stretch.set_number);
  for (const GraphInput& input : stretch.graph.inputs)
    if (input.role == Role::kScalar && input.name == kLearningRate && !rate_is_set_) rate_ = input.scalar;
  if (rate_is_set_) set_number_(std::string(kLearningRate), *rate_);
  weights_.clear();
  for (const Variable& v : stretch.graph.variables)
    if (v.kind == VariableKind::kWeight) weights_.push_back(v.name);
  if (!std::exchange(begun_, true)) TENON_TRY(callbacks_.each([&](Callback& c) { c.on_train_begin(*this); }));
  return callbacks_.each([&](Callback& c) { c.on_epoch_begin(*this, epoch_); });
}

Logs Estimator::Run::means() const {
  if (batch_ == 0) return {};
  Logs out{{"loss", loss_sum_ / static_cast<double>(batch_)}};
  for (const auto& [name, sum] : sums_) out.emplace(name, sum / static_cast<double>(batch_));
  return out;
}

std::span<const float> Estimator::Run::values(std::string_view tensor) const {
  const auto found = values_.find(tensor);
  return found == values_.end() ? std::span<const float>() : std::span<const float>(found->second);
}

Status Estimator::Run::after_call(int64_t step, std::span<const float> losses, Values values) {
  if (callbacks_.empty()) return {};
  step_ = step;
  losses_.assign(losses.begin(), losses.end());
  loss_sum_ = std::accumulate(losses.begin(), losses.end(), loss_sum_);
  batch_ += std::ssize(losses);
  values_ = std::move(values);
  for (const auto& [name, each] : values_) sums_[name] = std::accumulate(each.begin(), each.end(), sums_[name]);
  const Logs logs = means();
  return callbacks_.each([&](Callback& c) { c.on_train_batch_end(*this, batch_ - 1, logs); });
}

void Estimator::Run::leave() {
  site_ = nullptr;
  nodes_ = nullptr;
  save_ = {};
  past_ = throughput();
  throughput_ = {};
  set_number_ = {};
}

Status Estimator::Run::end() {
  Logs logs = means();
  TENON_TRY(callbacks_.each([&](Callback& c) { c.on_epoch_end(*this, epoch_, logs); }));
  TENON_TRY(callbacks_.each([&](Callback& c) { c.on_train_end(*this, logs); }));
  leave();
  begun_ = false;
  return {};
}

Status Estimator::Run::before_evaluation() {
  TENON_TRY(callbacks_.each([&](Callback& c) { c.on_test_begin(*this); }));
  leave();
  return {};
}

// The step is in the EvalResult too, which is no result of evaluation to callbacks.
Status Estimator::Run::evaluated(const EvalResult& result) {
  if (!begun_) return {};  // nothing was trained
  Logs all = means(), measured(result.begin(), result.end());
  measured.erase(std::string(kStepCounter));
  for (const auto& [name, value] : measured) all[cat("val_", name)] = value;
  TENON_TRY(callbacks_.each([&](Callback& c) { c.on_test_end(*this, measured); }));
  TENON_TRY(callbacks_.each([&](Callback& c) { c.on_epoch_end(*this, epoch_, all); }));
  ++epoch_;
  return {};
}

Status Estimator::Run::end_training() {
  if (!begun_) return {};
  const Logs logs = means();
  return callbacks_.each([&](Callback& c) { c.on_train_end(*this, logs); });
}

Status Estimator::Run::failed(Status why) {
  if (std::exchange(begun_, false)) callbacks_.on_train_error(*this, why);
  leave();
  return why;
}

VariableStore& Estimator::Run::states() const {
  if (diverged_ || m_.step < 0) fail("variables cannot be reached after a loss that is not finite: they are given up");
  if (!m_.states)
    fail("variables cannot be reached while the device is closed, as it is between calls with LogLines::kEstimator");
  return *m_.states;
}

std::vector<std::string> Estimator::Run::variables() const {
  std::vector<std::string> out;
  for (const auto& entry : states().all()) out.push_back(entry.first);
  return out;
}

Array Estimator::Run::read(std::string_view variable) const { return states().read(variable).take(); }

void Estimator::Run::write(std::string_view variable, const Array& value) {
  check(states().write(variable, value));
  m_.dirty = true;
}

// A variable's, where the model function made one of that name; or a number that the host gives each step.
double Estimator::Run::learning_rate() const {
  if (rate_) return static_cast<double>(static_cast<float>(*rate_));
  if (!states().all().contains(kLearningRate))
    fail(
        "the learning rate is what a schedule of the model function gives in each step, and can be neither read nor "
        "set");
  return read(kLearningRate).item();
}

void Estimator::Run::set_learning_rate(double value) {
  (void)learning_rate();
  expect_number("the learning rate", value, 0);
  if (!rate_) return write(kLearningRate, Array(static_cast<float>(value)));
  rate_ = value;
  rate_is_set_ = true;
  if (set_number_) set_number_(std::string(kLearningRate), value);
}

void Estimator::Run::write_file(const std::string& path, const std::vector<std::string>* only) {
  check(make_directories(directory_of(path)));
  std::vector<TensorSource> tensors = states().sources(only);
  if (!only) note_writer(tensors);
  check(write_tensor_file(path, std::move(tensors)));
}

void Estimator::Run::save(const std::string& path) {
  if (diverged_) return;
  (void)states();  // they are there
  if (save_ && directory_of(path) == m_.config.model_dir)
    check(save_());
  else
    write_file(path, nullptr);
}

void Estimator::Run::save_weights(const std::string& path) {
  if (!diverged_) write_file(path, &weights_);
}

void Estimator::Run::load(const std::string& path) {
  LoadedTensors loaded = LoadedTensors::read(path).take();
  const int64_t step = loaded.scalar(kStepCounter, m_.step);
  check(loaded.give_known(states(), weights_));
  m_.step = step;
  m_.dirty = true;
}

}  // namespace tenon
