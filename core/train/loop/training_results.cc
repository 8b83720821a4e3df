// What becomes of what the steps give: losses, watched values, checkpoints, and the end of training.
#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "exchange/world.h"
#include "train/loop/training.h"

namespace tenon {

namespace {

Status not_finite(float loss, int64_t step) {
  return invalid("the loss is ", std::isnan(loss) ? "nan" : "infinite", " at step ", step,
                 ", expected a finite number");
}

}  // namespace

Status Estimator::Training::account(const StepCall& done) {
  m_.dirty = true;
  if (const Status shown = function_->show_watched(done, m_.step); !shown.ok()) return spoilt(shown, m_.input.samples);
  TENON_ASSIGN(const Array losses, function_->result(done, "loss"));
  losses_ = losses.to<float>();
  result_.loss = losses_.back();
  const auto bad = std::find_if(losses_.begin(), losses_.end(), [](float loss) { return !std::isfinite(loss); });
  if (bad != losses_.end()) return end_at_bad_loss(bad - losses_.begin());
  if (!m_.first_loss) m_.first_loss = losses_.front();
  m_.sound = !is_absurd(losses_.back(), *m_.first_loss);
  if (m_.estimator_log())
    for (const std::string& line : log_->after_call(m_.step, losses_)) m_.log(line);
  TENON_ASSIGN(Run::Values values, watched(done));
  m_.warn(m_.summaries.after_call(m_.config, m_.step, losses_, values));
  m_.step += done.steps;
  m_.input = function_->feed()->state();
  result_.global_step = m_.step;
  TENON_TRY(run_.after_call(m_.step, losses_, std::move(values)));
  if (m_.events.on_log && lines_.due(m_.step)) say_loss();
  return {};
}

Result<Estimator::Run::Values> Estimator::Training::watched(const StepCall& done) {
  Run::Values values;
  if (!run_.has_callbacks() && !m_.events.on_log_tensors && !Summaries::wanted(m_.config)) return values;
  for (const std::string& name : run_.watched()) {
    TENON_ASSIGN(const Array value, function_->result(done, tensor_result(name)));
    values[name] = value.to<float>();
    last_[name] = values[name].back();
  }
  return values;
}

void Estimator::Training::say_loss() {
  if (m_.events.on_log_tensors && !last_.empty()) m_.events.on_log_tensors(m_.step, last_);
  m_.events.on_log(m_.step, losses_.back(), lines_.wrote(m_.step));
}

Status Estimator::Training::end_at_bad_loss(int64_t i) {
  const int64_t step = m_.step + 1 + i;
  const float loss = losses_[static_cast<size_t>(i)];
  const Status why = spoilt(not_finite(loss, step), m_.input.samples + static_cast<uint64_t>(i * input_->batch_size));
  TENON_ASSIGN(const bool ends, run_.ends_at_bad_loss());
  if (!ends) return why;
  m_.info(why.message());
  losses_.resize(static_cast<size_t>(i) + 1);
  result_.loss = static_cast<double>(loss);
  result_.global_step = step;
  run_.diverge();
  TENON_TRY(run_.after_call(step, losses_));
  return run_.end();
}

Status Estimator::Training::save() {
  bool finite = true;
  Status status = m_.collect(background_, &finite);
  if (status.ok() && (m_.dirty || m_.loaded.empty())) status = m_.save(*manager_, function_->feed()->state(), &finite);
  return checked(status, finite);
}

Status Estimator::Training::save_beside() {
  bool finite = true;
  const Status status = m_.save_copy(*manager_, function_->feed()->state(), &finite, background_);
  return checked(status, finite);
}

Status Estimator::Training::tell_of_saved() {
  if (!background_.done() || World::joined()) return {};
  bool finite = true;
  const Status status = m_.collect(background_, &finite);
  return checked(status, finite);
}

Status Estimator::Training::checked(const Status& status, bool finite) {
  return finite ? status : spoilt(status, m_.input.samples - static_cast<uint64_t>(input_->batch_size));
}

Status Estimator::Training::spoilt(const Status& why, uint64_t batch) {
  const PipelineState failed{batch, m_.input.fingerprint, m_.input.data};
  const Result<std::string> variable = m_.states->not_finite();
  bool finite = true;
  if (!m_.collect(background_, &finite).ok()) m_.log("The last checkpoint was not saved.");
  m_.discard();
  function_->close();
  return Status(why.code(), cat(why.message(), m_.judge(*function_, *input_, manager_ ? &*manager_ : nullptr, failed,
                                                        variable.ok() ? *variable : "")));
}

Status Estimator::Training::finish(Status status) {
  const bool cut = function_->feed()->stopped() || interrupted_ ||
                   (status.ok() && !pace_->done(m_.step) && as_first_says(m_.interrupted()));
  if (status.ok() && result_.global_step == 0 && losses_.empty() && !cut && !run_.stopped())
    status = invalid("the input has fewer than ", input_->batch_size, " examples, one batch",
                     m_.passed_over(function_->feed()->pipeline()));
  else
    m_.report_corrupt(function_->feed()->pipeline());
  if (m_.events.on_log && !losses_.empty() && lines_.left(m_.step)) say_loss();
  if (status.ok() && !cut && !run_.evaluates()) status = run_.end();
  if (manager_ && (m_.dirty || as_first_says(background_.running()))) {
    const Status saved = save();
    if (m_.step < 0) return saved;
    if (status.ok()) status = saved;
  }
  const std::string kept = !manager_           ? ""
                           : m_.loaded.empty() ? "; no step was done, nothing is saved"
                                               : cat("; saved in ", m_.config.model_dir);
  if (status.ok() && cut) return m_.interrupted_here(kept);
  if (status.ok() && run_.evaluates()) status = run_.before_evaluation();
  return status;
}

}  // namespace tenon
