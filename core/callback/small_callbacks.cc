// TerminateOnNaN, SwapEMAWeights, LambdaCallback.
#include <algorithm>
#include <cmath>

#include "base/array_dtype.h"
#include "base/python_text.h"
#include "base/strings.h"
#include "tenon/callbacks.h"

namespace tenon {

// The means of the epoch are looked at too: a run need not know each step's loss.
void TerminateOnNaN::on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) {
  const std::span<const float> losses = run.losses();
  const auto bad = std::find_if(losses.begin(), losses.end(), [](float loss) { return !std::isfinite(loss); });
  const auto mean = logs.find("loss");
  if (bad == losses.end() && (mean == logs.end() || std::isfinite(mean->second))) return;
  if (bad != losses.end()) batch -= losses.end() - bad - 1;
  if (options_.raise_error)
    fail("NaN or Inf loss encountered at batch ", batch,
         " (loss=", bad != losses.end() ? python_text(*bad) : python_text(mean->second), ")");
  run.say(cat("Batch ", batch, ": Invalid loss, terminating training"));
  run.stop();
}

std::vector<std::pair<std::string, std::string>> SwapEMAWeights::pairs(const TrainingRun& run) const {
  const std::vector<std::string> weights = run.weights(), all = run.variables();
  const auto there = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& [weight, average] : options_.averages)
    for (const std::string& name : {weight, average})
      if (!there(all, name)) fail("averages has '", name, "', which is no variable of the model or its optimizer");
  std::vector<std::pair<std::string, std::string>> out(options_.averages.begin(), options_.averages.end());
  const bool by_optimizer = options_.suffix == SwapEMAWeightsOptions().suffix;
  const auto own = by_optimizer ? run.averages() : std::nullopt;
  for (const std::string& weight : weights) {
    if (options_.averages.contains(weight)) continue;
    if (!own && there(all, weight + options_.suffix)) out.emplace_back(weight, weight + options_.suffix);
    if (own && own->contains(weight)) out.emplace_back(weight, own->at(weight));
  }
  if (out.empty())
    fail("no weight has a moving average: expected a variable of a weight's name and '", options_.suffix,
         "', as an optimizer with use_ema has them");
  return out;
}

void SwapEMAWeights::swap(TrainingRun& run, bool averages) {
  if (swapped_ == averages) return;
  for (const auto& [weight, average] : pairs(run)) {
    const Array value = run.read(weight), mean = run.read(average);
    const bool same = value.dtype() == mean.dtype();  // else the average has more digits, which stay where they are
    if (!same && averages) kept_[weight] = value;
    run.write(weight, same || averages ? as_dtype(mean, value.dtype()) : kept_.at(weight));
    if (same) run.write(average, value);
  }
  swapped_ = averages;
}

void SwapEMAWeights::on_epoch_begin(TrainingRun& run, int) {
  if (options_.swap_on_epoch) swap(run, false);
}

void SwapEMAWeights::on_epoch_end(TrainingRun& run, int, Logs&) {
  if (options_.swap_on_epoch)
    swap(run, true);
  else
    (void)pairs(run);  // nothing may be evaluated, and there may be none
}

void LambdaCallback::on_train_begin(TrainingRun& run) {
  if (options_.on_train_begin) options_.on_train_begin(run);
}
void LambdaCallback::on_train_end(TrainingRun& run, const Logs& logs) {
  if (options_.on_train_end) options_.on_train_end(run, logs);
}
void LambdaCallback::on_epoch_begin(TrainingRun& run, int epoch) {
  if (options_.on_epoch_begin) options_.on_epoch_begin(run, epoch);
}
void LambdaCallback::on_epoch_end(TrainingRun& run, int epoch, Logs& logs) {
  if (options_.on_epoch_end) options_.on_epoch_end(run, epoch, logs);
}
void LambdaCallback::on_train_batch_begin(TrainingRun& run, int64_t batch) {
  if (options_.on_train_batch_begin) options_.on_train_batch_begin(run, batch);
}
void LambdaCallback::on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) {
  if (options_.on_train_batch_end) options_.on_train_batch_end(run, batch, logs);
}
void LambdaCallback::on_test_begin(TrainingRun& run) {
  if (options_.on_test_begin) options_.on_test_begin(run);
}
void LambdaCallback::on_test_end(TrainingRun& run, const Logs& logs) {
  if (options_.on_test_end) options_.on_test_end(run, logs);
}
void LambdaCallback::on_test_batch_begin(TrainingRun& run, int64_t batch) {
  if (options_.on_test_batch_begin) options_.on_test_batch_begin(run, batch);
}
void LambdaCallback::on_test_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) {
  if (options_.on_test_batch_end) options_.on_test_batch_end(run, batch, logs);
}
void LambdaCallback::on_predict_begin(TrainingRun& run) {
  if (options_.on_predict_begin) options_.on_predict_begin(run);
}
void LambdaCallback::on_predict_end(TrainingRun& run) {
  if (options_.on_predict_end) options_.on_predict_end(run);
}
void LambdaCallback::on_predict_batch_begin(TrainingRun& run, int64_t batch) {
  if (options_.on_predict_batch_begin) options_.on_predict_batch_begin(run, batch);
}
void LambdaCallback::on_predict_batch_end(TrainingRun& run, int64_t batch) {
  if (options_.on_predict_batch_end) options_.on_predict_batch_end(run, batch);
}
}  // namespace tenon
