// The training loop.
#include <cmath>
#include <thread>

#include "backend/forecast.h"
#include "train/estimator_impl.h"
#include "train/estimator_log.h"
#include "train/training_site.h"

namespace tenon {

// The length of each call of training, so that logs and checkpoints fall where they are due.
class TrainingPace {
 public:
  TrainingPace(const RunConfig& config, int64_t step, int64_t target, int64_t most)
      : config_(config),
        target_(target),
        length_(config, most),
        last_save_(Clock::now()),
        last_log_(Clock::now()),
        logged_(step) {}

  int64_t steps(int64_t step) const {
    int64_t n = length_.batches();
    if (target_ > 0) n = std::min(n, target_ - step);
    for (int64_t every : {config_.log_step_count_steps, config_.save_checkpoints_steps})
      if (every > 0) n = std::min(n, every - step % every);
    return n;
  }
  void took(int64_t n, double seconds) { length_.took(n, seconds); }
  bool done(int64_t step) const { return target_ > 0 && step >= target_; }
  bool save_due(int64_t step) const {
    if (config_.save_checkpoints_steps > 0) return step % config_.save_checkpoints_steps == 0;
    return config_.save_checkpoints_secs > 0 && seconds_since(last_save_) >= config_.save_checkpoints_secs;
  }
  void saved() { last_save_ = Clock::now(); }
  bool log_due(int64_t step) const {
    return config_.log_step_count_steps > 0 && step % config_.log_step_count_steps == 0;
  }
  // Steps a second since the last log.
  double logged(int64_t step) {
    const double rate = static_cast<double>(step - logged_) / std::max(seconds_since(last_log_), 1e-9);
    logged_ = step;
    last_log_ = Clock::now();
    return rate;
  }

 private:
  const RunConfig& config_;
  int64_t target_;
  CallLength length_;
  Clock::time_point last_save_, last_log_;
  int64_t logged_;
};

namespace {

Status not_finite(float loss, int64_t step) {
  return invalid("the loss is ", std::isnan(loss) ? "nan" : "infinite", " at step ", step,
                 ", expected a finite number");
}

// Known to be other data.
bool holds_other_data(const PipelineState& before, uint64_t now) {
  return before.data != 0 && now != 0 && before.data != now;
}

// As the device forecasts it; one that only gives the parts feeds while it computes, and the host's part comes on top.
double predicted_step_ms(const Executable& executable) {
  const Device& device = *executable.device;
  if (!device.units()[0].emulated) return 0;
  if (offers_forecast(device))
    if (const Result<PredictedStep> step = forecast(device, executable.program); step.ok()) return step->step_ms;
  const ProgramInfo& info = executable.program.info();
  return static_cast<double>(std::max(info.device_ns, info.feed_ns) + info.host_ns) * 1e-6;
}

}  // namespace

// One call of train(): from the states that are provided to the target, a call of the device at a time.
class Estimator::Training {
 public:
  Training(Impl& m, const TrainOptions& options, std::optional<CheckpointManager> manager)
      : m_(m), options_(options), manager_(std::move(manager)) {}

  Result<TrainResult> run() {
    const auto start = Clock::now();
    TENON_TRY(prepare());
    if (target_ > 0 && m_.step >= target_) {
      m_.log("Skipping training since max_steps has already saved.");
      m_.tenon_line(cat("skipping training: global step ", m_.step, " has reached max_steps ", target_));
      return result_;
    }
    for (TrainingHook* hook : options_.hooks) TENON_TRY(hook->attach(*site_));
    TENON_TRY(feed());
    for (TrainingHook* hook : options_.hooks) hook->begin(m_.step);
    Status status = loop();
    if (!status.ok() && m_.step < 0) return status;  // the states are spoilt
    status = finish(status);
    if (!status.ok()) return status;
    result_.seconds = seconds_since(start);
    return result_;
  }

 private:
  Status prepare() {
    TENON_ASSIGN(StepInput input, m_.step_input(options_.input));
    input_.emplace(std::move(input));
    const int64_t most = batches_per_call(m_.config), batch = input_->batch_size;
    TENON_ASSIGN(program_, m_.program(input_->specs(), batch, Mode::kTrain, static_cast<int>(most), true));
    TENON_TRY(m_.provide(*program_, false));
    m_.log("Running local_init_op.");
    program_->bind(*m_.states);
    m_.log("Done running local_init_op.");
    log_.emplace(m_.config.log_step_count_steps, m_.on_tpu(), batch);
    site_.emplace(TrainingSite{program_->executable(), m_.config.trace});
    result_.global_step = m_.step;
    result_.predicted_step_ms = predicted_step_ms(program_->executable());
    target_ = options_.max_steps > 0 ? options_.max_steps : options_.steps > 0 ? m_.step + options_.steps : 0;
    pace_.emplace(m_.config, m_.step, target_, most);
    return {};
  }

  Status feed() {
    const auto start = Clock::now();
    if (holds_other_data(m_.input, input_->data_fingerprint())) {
      m_.info(
          "the input is not the one that the checkpoint was trained on: it holds other data, and is read from its "
          "beginning");
      m_.input = {};
    }
    TENON_ASSIGN(feed_, BatchFeed::create(*program_, *input_, m_.input, m_.config.interrupted));
    if (m_.on_tpu())
      m_.log(cat("Initialized dataset iterators in ", static_cast<int64_t>(seconds_since(start)), " seconds"));
    if (m_.config.tpu && m_.on_tpu()) sleep_first(m_.config.tpu->initial_infeed_sleep_secs);
    if (m_.input.samples > 0 && !feed_->pipeline().resumed_exactly())
      m_.info("the input is not the one that the checkpoint was trained on; its order starts elsewhere");
    return {};
  }

  void sleep_first(double seconds) const {
    const auto start = Clock::now();
    while (seconds_since(start) < seconds && !m_.interrupted())
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min(0.05, seconds)));
  }

  Status loop() {
    while (go_on_ && !pace_->done(m_.step) && !m_.interrupted()) {
      const auto n = static_cast<uint32_t>(steps());
      TENON_ASSIGN(const uint32_t done, call(n));
      if (done > 0) TENON_TRY(account(done));
      TENON_TRY(feed_->status());
      if (done < n) break;  // the end of the input, or an interruption
      if (manager_ && pace_->save_due(m_.step) && !pace_->done(m_.step)) {
        TENON_TRY(save());
        pace_->saved();
      }
    }
    return {};
  }

  int64_t steps() const {
    int64_t n = pace_->steps(m_.step);
    for (const TrainingHook* hook : options_.hooks) n = std::min(n, hook->most_steps(m_.step));
    return std::max<int64_t>(n, 1);
  }

  Result<uint32_t> call(uint32_t n) {
    const auto start = Clock::now();
    Result<uint32_t> done = [&] {
      WatchedFeed feed(*feed_, site_->watch);
      return program_->run(m_.queue, n, &feed);
    }();
    if (!done.ok())
      m_.discard();
    else
      pace_->took(n, seconds_since(start));
    return done;
  }

  Status account(uint32_t done) {
    m_.dirty = true;
    TENON_TRY(program_->read_rows(m_.queue, "loss", done, losses_));
    result_.loss = losses_.back();
    const auto bad = std::find_if(losses_.begin(), losses_.end(), [](float loss) { return !std::isfinite(loss); });
    if (bad != losses_.end()) {
      const int64_t step = m_.step + 1 + (bad - losses_.begin());
      const auto before = static_cast<uint64_t>((bad - losses_.begin()) * input_->batch_size);
      return spoilt(not_finite(*bad, step), m_.input.samples + before);
    }
    if (m_.estimator_log())
      for (const std::string& line : log_->after_call(m_.step, losses_)) m_.log(line);
    m_.step += done;
    m_.input = feed_->state();
    result_.global_step = m_.step;
    for (TrainingHook* hook : options_.hooks) go_on_ = hook->after_run(m_.step, losses_) && go_on_;
    if (m_.events.on_log && pace_->log_due(m_.step)) m_.events.on_log(m_.step, losses_.back(), pace_->logged(m_.step));
    return {};
  }

  Status save() {
    bool finite = true;
    const Status status = m_.save(*manager_, feed_->state(), &finite);
    return finite ? status : spoilt(status, m_.input.samples - static_cast<uint64_t>(input_->batch_size));
  }

  // The states are worth nothing, and perhaps those of a checkpoint. `batch` is the first sample of the last batch.
  Status spoilt(const Status& why, uint64_t batch) {
    const PipelineState failed{batch, m_.input.fingerprint, m_.input.data};
    const Result<std::string> variable = m_.states->not_finite();
    m_.discard();
    feed_.reset();
    return Status(why.code(), cat(why.message(), m_.judge(*program_, *input_, manager_ ? &*manager_ : nullptr, failed,
                                                          variable.ok() ? *variable : "")));
  }

  // Saves what was done, also when the input failed on the way.
  Status finish(Status status) {
    if (status.ok() && result_.global_step == 0 && losses_.empty() && !m_.interrupted())
      status = invalid("the input has fewer than ", input_->batch_size, " examples, one batch");
    m_.report_corrupt(feed_->pipeline());
    if (manager_ && m_.dirty) {
      const Status saved = save();
      if (m_.step < 0) return saved;
      if (status.ok()) status = saved;
    }
    for (TrainingHook* hook : options_.hooks) hook->end(m_.step);
    const std::string kept = !manager_           ? ""
                             : m_.loaded.empty() ? "; no step was done, nothing is saved"
                                                 : cat("; saved in ", m_.config.model_dir);
    if (status.ok() && feed_->stopped()) return m_.interrupted_here(kept);
    if (status.ok() && !pace_->done(m_.step)) status = m_.interruption(kept);
    return status;
  }

  Impl& m_;
  const TrainOptions& options_;
  std::optional<CheckpointManager> manager_;
  std::optional<StepInput> input_;
  std::unique_ptr<ModeProgram> program_;
  std::unique_ptr<BatchFeed> feed_;
  std::optional<TrainingPace> pace_;
  std::optional<TrainingSite> site_;
  std::optional<estimator_log::Losses> log_;
  int64_t target_ = 0;
  TrainResult result_;
  std::vector<float> losses_;
  bool go_on_ = true;
};

Result<TrainResult> Estimator::train(const TrainOptions& options) {
  const Impl::Listening listening(*impl_);
  Result<TrainResult> result = train_on_device(options);
  if (!impl_->estimator_log()) return result;
  const Status closed = impl_->close();
  if (!result.ok()) return result;
  TENON_TRY(closed);
  if (result->seconds > 0) impl_->log(cat("Loss for final step: ", estimator_log::number(result->loss), "."));
  impl_->log("training_loop marked as finished");
  return result;
}

Result<TrainResult> Estimator::train_on_device(const TrainOptions& options) {
  std::optional<CheckpointManager> manager;
  if (!impl_->config.model_dir.empty()) {
    TENON_ASSIGN(manager, CheckpointManager::open(impl_->config.model_dir, impl_->config.keep_checkpoint_max));
  }
  return Training(*impl_, options, std::move(manager)).run();
}

Status Estimator::judged(const Status& why, const TrainInput& train) {
  return impl_->bad_loss && !impl_->config.model_dir.empty() ? impl_->judged(why, train) : why;
}

Result<TrainAndEvaluateResult> train_and_evaluate(Estimator& estimator, const TrainSpec& train, const EvalSpec& eval) {
  if (train.max_steps <= 0)
    return invalid("train_and_evaluate: max_steps is ", train.max_steps, ", expected 1 or more");
  TrainAndEvaluateResult result;
  TENON_ASSIGN(int64_t step, estimator.global_step());
  do {
    const int64_t target = std::min(step + std::max<int64_t>(train.steps_between_evals, 1), train.max_steps);
    TENON_ASSIGN(result.train, estimator.train({.input = train.input, .max_steps = target, .hooks = train.hooks}));
    Result<EvalResult> evaluated = estimator.evaluate({.input = eval.input, .steps = eval.steps});
    if (!evaluated.ok()) return estimator.judged(evaluated.status(), train.input);
    result.eval = evaluated.take();
    const bool stopped = result.train.global_step < target;
    step = result.train.global_step;
    if (stopped) break;
  } while (step < train.max_steps);
  return result;
}

}  // namespace tenon
