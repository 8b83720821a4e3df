#include "model/fit_run.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/strings.h"
#include "base/tell.h"
#include "step/function_impl.h"

namespace tenon {
namespace {

Callbacks with_bar(Callbacks callbacks, Verbose verbose) {
  const auto is_bar = [](const AnyCallback& c) { return dynamic_cast<const ProgbarLogger*>(c.operator->()); };
  if (verbose != Verbose::kSilent && std::none_of(callbacks.begin(), callbacks.end(), is_bar))
    callbacks.push_back(ProgbarLogger(verbose));
  return callbacks;
}

}  // namespace

ModelRun::ModelRun(Model& model, ModelTraining& training, const Callbacks& callbacks, Verbose verbose)
    : model_(model), training_(training), callbacks_(with_bar(callbacks, verbose)), step_(training.steps()) {}

std::vector<std::string> ModelRun::variables() const {
  std::vector<std::string> names;
  for (const auto& v : training_.strategy.variables()) names.push_back(v.name);
  return names;
}

double ModelRun::predicted_step_ms() const {
  if (!step_of_fit_) return 0;
  const std::optional<PredictedStep> step = step_of_fit_->forecast();
  return step ? step->step_ms : 0;
}

void ModelRun::say(const std::string& line) { tell(line, Lines::kKept); }

void ModelRun::set_initial_epoch(int epoch) {
  if (!beginning_) fail("set_initial_epoch: training has begun, expected a call from on_train_begin");
  initial_epoch_ = epoch;
}

void ModelRun::begin_fit(int initial_epoch, int epochs, int64_t steps_per_epoch, const Function& step) {
  step_of_fit_ = step;
  before_ = step.throughput();
  initial_epoch_ = initial_epoch;
  epochs_ = epochs;
  steps_per_epoch_ = steps_per_epoch;
  beginning_ = true;
  call([&](Callback& c) { c.on_train_begin(*this); });
  beginning_ = false;
}

int64_t ModelRun::most_steps() const {
  const int64_t most = training_.options().steps_per_execution;
  return callbacks_.empty() ? most : std::min(most, callbacks_.most_steps(step_).take());
}

void ModelRun::did(const Array& rows, int64_t steps) {
  const auto* values = reinterpret_cast<const float*>(rows.bytes().data());
  const int64_t size = rows.elements() / steps;
  losses_.resize(static_cast<size_t>(steps));
  for (int64_t i = 0; i < steps; ++i) losses_[static_cast<size_t>(i)] = values[i * size];
  if (std::exchange(counted_, true))
    step_ += steps;
  else
    count_steps();  // the optimizer may have been found only now
}

Logs ModelRun::test(const Dataset& data, int64_t steps, const char* what) {
  if (steps == 0 && data.options().repeat)
    fail(what, ": the data repeat for ever: steps says how many batches to take");
  const std::shared_ptr<MeasuredStep> step = training_.test(model_);
  DataPass pass(*step->run, training_.as_taken(data, Mode::kEval));
  Measured measured;
  call([&](Callback& c) { c.on_test_begin(*this); });
  Logs logs;
  int64_t done = 0;
  while (steps == 0 || done < steps) {
    if (!pass.more()) break;
    call([&](Callback& c) { c.on_test_batch_begin(*this, done); });
    training_.use(model_);
    const Results results = pass(static_cast<int>(steps > 0 ? std::min<int64_t>(steps - done, 1 << 30) : 0));
    if (!results) break;
    measured.add(step->measures, results["row"], results.steps(), results.examples());
    done += results.steps();
    if (needs_logs()) measured.to_logs(step->measures, &logs);
    call([&](Callback& c) { c.on_test_batch_end(*this, done - 1, logs); });
  }
  if (measured.examples() == 0) fail(what, ": the data gave no batch of ", data.options().batch_size);
  if (done < steps) say(cat(what, ": the data ended after ", done, " of ", steps, " steps"));
  measured.to_logs(step->measures, &logs);
  call([&](Callback& c) { c.on_test_end(*this, logs); });
  return logs;
}

}  // namespace tenon
