#include "train/loop/training.h"

#include <algorithm>
#include <limits>
#include <thread>

#include "backend/forecast.h"
#include "base/strings.h"
#include "exchange/world.h"
#include "step/program_plan.h"

namespace tenon {

namespace {

// That of on_log: by steps alone, or by the clock too.
LogPace log_pace(const RunConfig& config, const RunEvents& events) {
  const int64_t every = config.log_step_count_steps;
  return events.log_by_clock ? LogPace(every) : LogPace(every, 0, std::numeric_limits<double>::infinity());
}

// Known to be other data.
bool holds_other_data(const PipelineState& before, uint64_t now) {
  return before.data != 0 && now != 0 && before.data != now;
}

// As the device forecasts it, where it stands for another machine. One that only gives the parts feeds while it computes,
// and the host's part comes on top.
PredictedStep predicted(const Executable& executable) {
  const Device& device = *executable.device;
  if (!device.units()[0].emulated) return {};
  if (offers_forecast(device))
    if (Result<PredictedStep> step = predicted_step(executable); step.ok()) return step.take();
  const ProgramInfo& info = executable.info();
  PredictedStep out;
  out.step_ms = static_cast<double>(std::max(info.device_ns, info.feed_ns) + info.host_ns) * 1e-6;
  return out;
}

std::string padding_text(const PredictedStep& step) {
  constexpr size_t kMost = 3;
  std::vector<std::string> worst;
  for (size_t i = 0; i < std::min(kMost, step.padded_layers.size()); ++i)
    worst.push_back(cat(step.padded_layers[i].name, " (", step.padded_layers[i].sizes_text(), ")"));
  const size_t more = step.padded_layers.size() - worst.size();
  return cat("sizes that fill no whole tiles of a ", step.machine, ": ", join(worst),
             more > 0 ? cat(" and ", more, " more, which preflight lists") : "");
}

}  // namespace

Estimator::Training::Training(Impl& m, const TrainOptions& options, std::optional<CheckpointManager> manager, Run& run)
    : m_(m), options_(options), manager_(std::move(manager)), run_(run), lines_(log_pace(m.config, m.events)) {}

Result<TrainResult> Estimator::Training::run() {
  const auto start = Clock::now();
  TENON_TRY(prepare());
  if (target_ > 0 && m_.step >= target_) {
    m_.log("Skipping training since max_steps has already saved.");
    m_.tenon_line(cat("skipping training: global step ", m_.step, " has reached max_steps ", target_));
    return result_;
  }
  TENON_TRY(feed());
  Status status = begin();
  if (status.ok()) status = loop();
  if (m_.step >= 0) status = finish(status);  // else the states are spoilt
  if (!status.ok()) return run_.failed(status);
  result_.seconds = seconds_since(start);
  return result_;
}

Status Estimator::Training::prepare() {
  TENON_ASSIGN(StepInput input, m_.step_input(options_.input));
  input_.emplace(std::move(input));
  const int64_t most = batches_per_call(m_.config), batch = input_->batch_size;
  TENON_ASSIGN(function_, m_.function(input_->specs(), batch, Mode::kTrain, static_cast<int>(most), true));
  TENON_TRY(m_.provide(executable().graph, false));
  m_.log("Running local_init_op.");
  TENON_TRY(function_->bind(*m_.states));
  m_.log("Done running local_init_op.");
  log_.emplace(m_.config.log_step_count_steps, m_.on_tpu(), batch);
  site_.emplace(TrainingSite{executable(), m_.config.trace});
  result_.global_step = m_.step;
  const PredictedStep step = predicted(executable());
  result_.predicted_step_ms = step.step_ms;
  if (!step.padded_layers.empty())
    if (const std::string line = padding_text(step); m_.warned.insert(line).second) m_.tenon_line(line);
  target_ = target();
  return {};
}

int64_t Estimator::Training::target() const {
  if (options_.steps == 0) return options_.max_steps;
  return m_.step + std::min(options_.steps, INT64_MAX - m_.step);
}

Status Estimator::Training::begin() {
  std::function<Status()> save_here;
  if (manager_) save_here = [this] { return m_.dirty || m_.loaded.empty() ? save() : Status(); };
  const int64_t steps = target_ > 0 ? target_ - m_.step : 0;
  TENON_TRY(run_.begin({executable().graph, function_->graph(), result_.predicted_step_ms, *site_, steps, save_here,
                        [this] { return function_->throughput(); },
                        [this](const std::string& scalar, double value) { function_->set_number(scalar, value); }}));
  result_.global_step = m_.step;  // a callback may have loaded another state
  m_.warn(m_.summaries.begin(m_.config, m_.step, function_->graph()));
  target_ = target();
  pace_.emplace(m_.config, target_, batches_per_call(m_.config));
  lines_.begin(m_.step);
  return {};
}

Status Estimator::Training::feed() {
  const auto start = Clock::now();
  if (holds_other_data(m_.input, input_->data_fingerprint())) {
    m_.info(
        "the input is not the one that the checkpoint was trained on: it holds other data, and is read from its "
        "beginning");
    m_.input = {};
  }
  World* const world = World::joined();
  if (world) TENON_TRY(world->expect_same("the data", cat(input_->data_text(), ", from example ", m_.input.samples)));
  // Processes that share a step end it together, between calls.
  TENON_TRY(function_->open(*input_, m_.input, [this, world] { return !world && m_.interrupted(); }));
  if (m_.on_tpu())
    m_.log(cat("Initialized dataset iterators in ", static_cast<int64_t>(seconds_since(start)), " seconds"));
  if (m_.config.tpu && m_.on_tpu()) sleep_first(m_.config.tpu->initial_infeed_sleep_secs);
  if (m_.input.samples > 0 && !function_->feed()->pipeline().resumed_exactly())
    m_.info("the input is not the one that the checkpoint was trained on; its order starts elsewhere");
  return {};
}

void Estimator::Training::sleep_first(double seconds) const {
  const auto start = Clock::now();
  while (seconds_since(start) < seconds && !m_.interrupted())
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(0.05, seconds)));
}

Status Estimator::Training::loop() {
  while (!run_.stopped() && !pace_->done(m_.step)) {
    TENON_ASSIGN(const uint32_t n, agreed_steps());
    if (interrupted_) break;
    TENON_TRY(run_.before_call());
    TENON_TRY(tell_of_saved());
    TENON_ASSIGN(const StepCall done, call(n));
    if (done.steps > 0) TENON_TRY(account(done));
    if (m_.step < 0) break;  // its loss was bad, and a callback takes that for the end
    TENON_TRY(function_->feed()->status());
    if (done.steps < n && !passes_rest(done)) break;  // the end of the input, or an interruption
    if (manager_ && pace_->save_due(m_.step) && !pace_->done(m_.step)) {
      TENON_TRY(m_.config.async_checkpoints ? save_beside() : save());
      pace_->saved();
    }
  }
  return {};
}

bool Estimator::Training::passes_rest(const StepCall& done) {
  if (done.steps > 0) passed_rest_ = false;
  BatchFeed& feed = *function_->feed();
  if (has_buckets() || feed.partial().rows == 0 || std::exchange(passed_rest_, true)) return false;
  feed.release_partial();
  return feed.more();
}

Result<uint32_t> Estimator::Training::steps() const {
  if (has_buckets()) return 1;  // the next batch may be another program's
  TENON_ASSIGN(const int64_t most, run_.most_steps());
  return static_cast<uint32_t>(std::max<int64_t>(std::min(pace_->steps(m_.step), most), 1));
}

Result<uint32_t> Estimator::Training::agreed_steps() {
  TENON_ASSIGN(const uint32_t n, steps());
  interrupted_ = m_.interrupted();
  World* const world = World::joined();
  if (!world) return n;
  struct Turn {
    uint32_t steps, interrupted, signal;
  };
  const Turn own{n, interrupted_, static_cast<uint32_t>(InterruptWatch::interrupted() ? InterruptWatch::signal() : 0)};
  std::vector<Turn> all(static_cast<size_t>(world->count()));
  TENON_TRY(world->gather(&own, all.data(), sizeof own));
  for (const Turn& turn : all) {
    interrupted_ = interrupted_ || turn.interrupted;
    if (turn.signal) InterruptWatch::hear(static_cast<int>(turn.signal));
  }
  return all[0].steps;
}

Result<StepCall> Estimator::Training::call(uint32_t n) {
  const auto start = Clock::now();
  Result<StepCall> done = has_buckets() ? function_->take(n) : function_->take_whole(n, site_->watch);
  if (done.ok())
    pace_->took(n, seconds_since(start));
  else
    done = behind_steps(done.status(), std::max<int64_t>(m_.step, 0)), m_.discard();
  return done;
}

Result<TrainResult> Estimator::train(const TrainOptions& options) {
  Run run(*impl_, options.hooks, 0);
  return train(options, run);
}

Result<TrainResult> Estimator::train(const TrainOptions& options, Run& run) {
  const Impl::Listening listening(*impl_);
  std::optional<InterruptWatch> watch;
  impl_->watch_signals(watch);
  Result<TrainResult> result = train_on_device(options, run);
  if (!impl_->estimator_log()) return result;
  const Status closed = impl_->close();
  if (!result.ok()) return result;
  TENON_TRY(closed);
  if (result->seconds > 0) impl_->log(cat("Loss for final step: ", estimator_log::number(result->loss), "."));
  impl_->log("training_loop marked as finished");
  return result;
}

Result<TrainResult> Estimator::train_on_device(const TrainOptions& options, Run& run) {
  const auto train = [&]() -> Result<TrainResult> {
    TENON_TRY(Impl::check(options));
    std::optional<CheckpointManager> manager;
    if (!impl_->config.model_dir.empty()) {
      TENON_ASSIGN(manager, open_checkpoints(impl_->config));
    }
    return Training(*impl_, options, std::move(manager), run).run();
  };
  Result<TrainResult> result = train();
  if (!result.ok()) return run.failed(result.status());
  return result;
}

Status Estimator::with_cause(const Status& why, const TrainInput& train) {
  return impl_->bad_loss && !impl_->config.model_dir.empty() ? impl_->with_cause(why, train) : why;
}

// What callbacks wrote after the last stretch of training was saved.
Status Estimator::save_changes() {
  if (!impl_->dirty || impl_->config.model_dir.empty()) return {};
  TENON_TRY(impl_->open());
  TENON_ASSIGN(CheckpointManager manager, open_checkpoints(impl_->config));
  bool finite = true;
  const Status status = impl_->save(manager, impl_->input, &finite);
  if (!finite) impl_->discard();
  return status;
}

}  // namespace tenon
