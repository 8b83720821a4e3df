#include "tenon/estimator.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "backend/registry.h"
#include "base/process_pool.h"
#include "base/text.h"
#include "train/batch_feed.h"
#include "train/checkpoint.h"
#include "train/mode_program.h"

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

constexpr std::string_view kSamples = "tenon/input_samples";
constexpr std::string_view kFingerprint = "tenon/input_fingerprint";

}  // namespace

namespace {

// The states that evaluation and prediction run on.
struct Inference {
  std::unique_ptr<StateStore> own;  // of a checkpoint that was named
  const StateStore* states = nullptr;
  int64_t step = 0;
};

}  // namespace

struct Estimator::Impl {
  ModelFn model;
  RunConfig config;
  Params params;
  RunEvents events;
  std::shared_ptr<Device> device;
  Queue queue;
  std::unique_ptr<StateStore> states;
  int64_t step = -1;       // of the states on the device; -1: none yet
  PipelineState input;     // where training stands in its input
  bool dirty = false;      // the states on the device are newer than any checkpoint
  std::string loaded;      // the checkpoint that they are equal to, unless dirty

  Status open();
  bool interrupted() const { return config.interrupted && config.interrupted(); }
  // `kept`: what became of the work done so far.
  Status interruption(const std::string& kept = {}) const {
    if (!interrupted()) return {};
    return Status(Code::kUnavailable, cat("interrupted at step ", std::max<int64_t>(step, 0), kept));
  }
  void info(const std::string& line) const {
    if (events.on_info) events.on_info(line);
  }
  Result<std::unique_ptr<ModeProgram>> program(const Dataset& data, int64_t batch, Mode mode, int max_iterations);
  Result<std::optional<BundleReader>> newest(bool required);
  Status provide(const ModeProgram& program, bool required);
  Status restore(const Graph& graph, const BundleReader& reader);
  // For evaluation and prediction; a checkpoint that is named leaves the states of training as they are.
  Result<Inference> provide(const ModeProgram& program, const std::string& prefix);
  // The states on the device are spoilt: the next call starts from the newest checkpoint.
  void discard();
  Status save(CheckpointManager& manager, const PipelineState& at);
};

Estimator::Estimator(ModelFn model, RunConfig config, Params params) : impl_(std::make_unique<Impl>()) {
  impl_->model = std::move(model);
  impl_->config = std::move(config);
  impl_->params = std::move(params);
}
Estimator::~Estimator() = default;
Estimator::Estimator(Estimator&&) noexcept = default;

void Estimator::set_events(RunEvents events) { impl_->events = std::move(events); }
const RunConfig& Estimator::config() const { return impl_->config; }

Status Estimator::Impl::open() {
  if (device) return {};
  TENON_ASSIGN(device, open_device(config.device));
  info(cat("using device ", device->name(), " (", device->units()[0].name, ")"));
  TENON_ASSIGN(queue, device->create_queue());
  states = std::make_unique<StateStore>(device, queue, config.seed);
  return {};
}

Result<std::unique_ptr<ModeProgram>> Estimator::Impl::program(const Dataset& data, int64_t batch, Mode mode,
                                                              int max_iterations) {
  TENON_TRY(open());
  TENON_ASSIGN(ModeGraph graph, build_mode_graph(model, params, data.specs(), batch, mode));
  return ModeProgram::create(std::move(graph), device, config, max_iterations);
}

// The newest checkpoint of model_dir.
Result<std::optional<BundleReader>> Estimator::Impl::newest(bool required) {
  std::string path;
  if (!config.model_dir.empty()) {
    TENON_ASSIGN(const std::optional<FoundCheckpoint> found, latest_checkpoint(config.model_dir));
    if (found) {
      for (const std::string& warning : found->warnings) info(warning);
      path = found->prefix;
    }
  }
  if (path.empty()) {
    if (required)
      return Status(Code::kUnavailable, config.model_dir.empty() ? "the model was not trained and has no model_dir"
                                                                 : cat(config.model_dir, ": has no checkpoint"));
    return std::optional<BundleReader>();
  }
  TENON_ASSIGN(BundleReader reader, BundleReader::open(path));
  return std::optional<BundleReader>(std::move(reader));
}

// Puts the program's states on the device: those that training left there, or the newest checkpoint's, which another
// process may have written, or first values.
Status Estimator::Impl::provide(const ModeProgram& program, bool required) {
  const Graph& graph = program.executable().graph;
  if (dirty) return states->provide(graph, nullptr);
  TENON_ASSIGN(const std::optional<BundleReader> reader, newest(required));
  if (!reader) {
    step = std::max<int64_t>(step, 0);
    return states->provide(graph, nullptr);
  }
  if (reader->prefix() == loaded) return states->provide(graph, &*reader);
  const Status status = restore(graph, *reader);
  if (!status.ok()) discard();
  return status;
}

Status Estimator::Impl::restore(const Graph& graph, const BundleReader& reader) {
  info(cat("restoring ", reader.prefix()));
  TENON_TRY(states->reload(reader));
  TENON_TRY(states->provide(graph, &reader));
  TENON_ASSIGN(step, reader.read_scalar("global_step"));
  input = {};
  if (reader.find(kSamples)) {
    TENON_ASSIGN(const int64_t samples, reader.read_scalar(kSamples));
    TENON_ASSIGN(const int64_t fingerprint, reader.read_scalar(kFingerprint));
    input = {static_cast<uint64_t>(samples), static_cast<uint64_t>(fingerprint)};
  }
  loaded = reader.prefix();
  return {};
}

Result<Inference> Estimator::Impl::provide(const ModeProgram& program, const std::string& prefix) {
  if (prefix.empty()) {
    TENON_TRY(provide(program, true));
    return Inference{nullptr, states.get(), step};
  }
  TENON_ASSIGN(const BundleReader reader, BundleReader::open(prefix));
  info(cat("restoring ", reader.prefix()));
  Inference out{std::make_unique<StateStore>(device, queue, config.seed)};
  out.states = out.own.get();
  TENON_TRY(out.own->provide(program.executable().graph, &reader));
  TENON_ASSIGN(out.step, reader.read_scalar("global_step"));
  return out;
}

void Estimator::Impl::discard() {
  states = std::make_unique<StateStore>(device, queue, config.seed);
  step = -1;
  input = {};
  dirty = false;
  loaded.clear();
}

Status Estimator::Impl::save(CheckpointManager& manager, const PipelineState& at) {
  const FillBundle fill = [&](BundleWriter& writer) -> Status {
    TENON_TRY(states->save(writer));
    TENON_TRY(writer.add_scalar(kSamples, static_cast<int64_t>(at.samples)));
    return writer.add_scalar(kFingerprint, static_cast<int64_t>(at.fingerprint));
  };
  TENON_ASSIGN(const std::string path, manager.save(step, fill));
  dirty = false;
  loaded = path;
  if (events.on_checkpoint) events.on_checkpoint(step, path);
  return {};
}

// ---- training ----

namespace {

// How many batches to ask of the device at once so that a call takes about half a second, unless the user chose.
class CallLength {
 public:
  CallLength(const RunConfig& config, int64_t most)
      : chosen_(config.iterations_per_loop > 0), most_(most), now_(chosen_ ? most : 1) {}
  int64_t batches() const { return now_; }
  // A call of `n` took so long.
  void took(int64_t n, double seconds) {
    constexpr double kWanted = 0.5;
    if (chosen_) return;
    const double fitting = kWanted * static_cast<double>(n) / std::max(seconds, 1e-9);
    now_ = std::clamp<int64_t>(static_cast<int64_t>(std::min(fitting, 1e9)), 1, most_);
  }

 private:
  bool chosen_;
  int64_t most_, now_;
};

// The length of each call of training, so that logs and checkpoints fall where they are due.
class Pace {
 public:
  Pace(const RunConfig& config, int64_t step, int64_t target, int64_t most)
      : config_(config), target_(target), length_(config, most), last_save_(Clock::now()), last_log_(Clock::now()),
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

int64_t steps_per_call(const RunConfig& config) {
  if (config.iterations_per_loop > 0) return config.iterations_per_loop;
  return std::clamp<int64_t>(config.log_step_count_steps, 1, 100);
}

}  // namespace

Result<TrainResult> Estimator::train(const TrainOptions& options) {
  Impl& m = *impl_;
  const auto start = Clock::now();
  std::optional<CheckpointManager> manager;
  if (!m.config.model_dir.empty()) {
    TENON_ASSIGN(manager, CheckpointManager::open(m.config.model_dir, m.config.keep_checkpoint_max));
  }
  const int64_t per_call = steps_per_call(m.config);
  TENON_ASSIGN(const std::unique_ptr<ModeProgram> program,
               m.program(options.input, options.input.options().batch_size, Mode::kTrain, static_cast<int>(per_call)));
  TENON_TRY(m.provide(*program, false));
  program->bind(*m.states);

  TrainResult result;
  result.global_step = m.step;
  const int64_t target = options.max_steps > 0 ? options.max_steps : options.steps > 0 ? m.step + options.steps : 0;
  if (target > 0 && m.step >= target) {
    m.info(cat("skipping training: global step ", m.step, " has reached max_steps ", target));
    return result;
  }
  TENON_ASSIGN(const std::unique_ptr<BatchFeed> feed, BatchFeed::create(program->executable(), options.input, m.input));
  if (m.input.samples > 0 && !feed->pipeline().resumed_exactly())
    m.info("the input is not the one that the checkpoint was trained on; its order starts elsewhere");

  for (TrainingHook* hook : options.hooks) hook->begin(m.step);
  Pace pace(m.config, m.step, target, per_call);
  std::vector<float> losses;
  bool go_on = true;
  while (go_on && !pace.done(m.step)) {
    if (m.interrupted()) break;
    const auto n = static_cast<uint32_t>(pace.steps(m.step));
    const auto called = Clock::now();
    const Result<uint32_t> ran = program->run(m.queue, n, feed.get());
    if (!ran.ok()) m.discard();
    TENON_ASSIGN(const uint32_t done, ran);
    pace.took(n, seconds_since(called));
    if (done > 0) {
      m.dirty = true;
      TENON_TRY(program->read_rows(m.queue, "loss", done, losses));
      m.step += done;
      m.input = feed->state();
      result.loss = losses.back();
      if (!std::isfinite(losses.back())) {
        m.discard();
        return invalid("the loss is ", std::isnan(losses.back()) ? "nan" : "infinite", " at step ",
                       result.global_step + done, ", expected a finite number",
                       manager ? cat("; the newest checkpoint of ", m.config.model_dir, " is untouched") : "");
      }
      result.global_step = m.step;
      for (TrainingHook* hook : options.hooks) go_on = hook->after_run(m.step, losses) && go_on;
      if (m.events.on_log && pace.log_due(m.step)) m.events.on_log(m.step, losses.back(), pace.logged(m.step));
    }
    TENON_TRY(feed->status());
    if (done < n) break;
    if (manager && pace.save_due(m.step) && !pace.done(m.step)) {
      TENON_TRY(m.save(*manager, feed->state()));
      pace.saved();
    }
  }
  if (result.global_step == 0 && losses.empty() && !m.interrupted())
    return invalid("the input has fewer than ", options.input.options().batch_size, " examples, one batch");
  if (const int64_t corrupt = feed->pipeline().corrupt_records(); corrupt > 0)
    m.info(cat("left out ", corrupt, " corrupt records"));
  if (manager && m.dirty) TENON_TRY(m.save(*manager, feed->state()));
  for (TrainingHook* hook : options.hooks) hook->end(m.step);
  if (!pace.done(m.step)) TENON_TRY(m.interruption(manager ? cat("; saved in ", m.config.model_dir) : ""));
  result.seconds = seconds_since(start);
  return result;
}

// ---- evaluation ----

namespace {

// Sums over batches: the loss weighted by rows, the metrics as total / count.
class Totals {
 public:
  explicit Totals(const std::vector<std::string>& metrics) : metrics_(metrics), sums_(metrics.size()) {}

  Status add(ModeProgram& program, Queue& queue, uint32_t batches, int64_t rows) {
    std::vector<float> values;
    TENON_TRY(program.read_rows(queue, "loss", batches, values));
    for (float v : values) loss_ += static_cast<double>(v) * static_cast<double>(rows);
    rows_ += static_cast<int64_t>(batches) * rows;
    for (size_t i = 0; i < metrics_.size(); ++i) {
      TENON_TRY(program.read_rows(queue, cat("metric/", metrics_[i], "/total"), batches, values));
      for (float v : values) sums_[i].first += v;
      TENON_TRY(program.read_rows(queue, cat("metric/", metrics_[i], "/count"), batches, values));
      for (float v : values) sums_[i].second += v;
    }
    return {};
  }

  EvalResult result(int64_t step) const {
    EvalResult out{{"loss", rows_ ? loss_ / static_cast<double>(rows_) : 0}, {"global_step", static_cast<double>(step)}};
    for (size_t i = 0; i < metrics_.size(); ++i)
      out[metrics_[i]] = sums_[i].second != 0 ? sums_[i].first / sums_[i].second : 0;
    return out;
  }
  int64_t rows() const { return rows_; }

 private:
  const std::vector<std::string>& metrics_;
  std::vector<std::pair<double, double>> sums_;
  double loss_ = 0;
  int64_t rows_ = 0;
};

// The first `rows` rows of the feed's partial batch in buffers of that size.
Result<std::vector<Buffer>> partial_buffers(const Executable& small, Queue& queue, const BatchFeed& feed) {
  std::vector<Buffer> out;
  for (const Input& input : small.graph.inputs) {
    if (input.role != Role::kFeed) continue;
    const Type& type = small.graph.type(input.value);
    TENON_ASSIGN(Buffer buffer, small.device->allocate(type, true));
    TENON_TRY(queue.write(buffer, feed.partial_feature(out.size()).host(), static_cast<uint64_t>(type.bytes())));
    out.push_back(std::move(buffer));
  }
  return out;
}

}  // namespace

Result<EvalResult> Estimator::evaluate(const EvalOptions& options) {
  Impl& m = *impl_;
  const int64_t batch = options.input.options().batch_size;
  const int64_t per_call = steps_per_call(m.config);
  TENON_ASSIGN(const std::unique_ptr<ModeProgram> program,
               m.program(options.input, batch, Mode::kEval, static_cast<int>(per_call)));
  TENON_ASSIGN(const Inference at, m.provide(*program, options.checkpoint));
  program->bind(*at.states);
  TENON_ASSIGN(const std::unique_ptr<BatchFeed> feed, BatchFeed::create(program->executable(), options.input, {}));
  Totals totals(program->mode_graph().metrics);
  CallLength length(m.config, per_call);
  for (int64_t left = options.steps > 0 ? options.steps : INT64_MAX; left > 0;) {
    TENON_TRY(m.interruption());
    const auto n = static_cast<uint32_t>(std::min(left, length.batches()));
    const auto called = Clock::now();
    TENON_ASSIGN(const uint32_t done, program->run(m.queue, n, feed.get()));
    length.took(n, seconds_since(called));
    TENON_TRY(feed->status());
    if (done > 0) TENON_TRY(totals.add(*program, m.queue, done, batch));
    left -= done;
    if (done < n) {
      if (const int64_t rows = feed->partial().rows; rows > 0 && left > 0) {
        TENON_ASSIGN(const std::unique_ptr<ModeProgram> small, m.program(options.input, rows, Mode::kEval, 1));
        TENON_ASSIGN(const std::vector<Buffer> buffers, partial_buffers(small->executable(), m.queue, *feed));
        std::vector<const Buffer*> feeds;
        for (const Buffer& b : buffers) feeds.push_back(&b);
        small->bind(*at.states);
        small->bind_feeds(feeds);
        TENON_ASSIGN(const uint32_t ran, small->run(m.queue, 1, nullptr));
        TENON_TRY(totals.add(*small, m.queue, ran, rows));
      }
      break;
    }
  }
  if (totals.rows() == 0) return invalid("evaluation: the input has no batch of ", batch);
  if (const int64_t corrupt = feed->pipeline().corrupt_records(); corrupt > 0)
    m.info(cat("left out ", corrupt, " corrupt records"));
  const EvalResult result = totals.result(at.step);
  if (m.events.on_evaluate) m.events.on_evaluate(at.step, result);
  return result;
}

// ---- prediction ----

namespace {

Status emit_rows(ModeProgram& program, Queue& queue, int64_t rows, int64_t first, const PredictRow& row) {
  std::map<std::string, std::vector<float>> values;
  for (const std::string& name : program.mode_graph().predictions) {
    TENON_TRY(program.read_floats(queue, cat("predict/", name), values[name]));
    if (program.result_type(cat("predict/", name)).shape.rank() == 0)
      return invalid("prediction '", name, "' is a scalar, expected one value a row");
  }
  for (int64_t i = 0; i < rows; ++i) {
    std::map<std::string, std::span<const float>> one;
    for (const auto& [name, all] : values) {
      const size_t n = all.size() / static_cast<size_t>(rows);
      one[name] = std::span<const float>(all).subspan(static_cast<size_t>(i) * n, n);
    }
    TENON_TRY(row(first + i, one));
  }
  return {};
}

}  // namespace

Status Estimator::predict(const Dataset& input, const PredictRow& row, const std::string& checkpoint) {
  Impl& m = *impl_;
  const int64_t batch = input.options().batch_size;
  TENON_ASSIGN(const std::unique_ptr<ModeProgram> program, m.program(input, batch, Mode::kPredict, 1));
  TENON_ASSIGN(const Inference at, m.provide(*program, checkpoint));
  program->bind(*at.states);
  TENON_ASSIGN(const std::unique_ptr<BatchFeed> feed, BatchFeed::create(program->executable(), input, {}));
  int64_t first = 0;
  for (;;) {
    TENON_TRY(m.interruption());
    TENON_ASSIGN(const uint32_t done, program->run(m.queue, 1, feed.get()));
    TENON_TRY(feed->status());
    if (done == 0) break;
    TENON_TRY(emit_rows(*program, m.queue, batch, first, row));
    first += batch;
  }
  const int64_t rows = feed->partial().rows;
  if (rows == 0) return {};
  TENON_ASSIGN(const std::unique_ptr<ModeProgram> small, m.program(input, rows, Mode::kPredict, 1));
  TENON_ASSIGN(const std::vector<Buffer> buffers, partial_buffers(small->executable(), m.queue, *feed));
  std::vector<const Buffer*> feeds;
  for (const Buffer& b : buffers) feeds.push_back(&b);
  small->bind(*at.states);
  small->bind_feeds(feeds);
  TENON_TRY(small->run(m.queue, 1, nullptr).status());
  return emit_rows(*small, m.queue, rows, first, row);
}

// ---- inspection ----

Result<int64_t> Estimator::global_step() const {
  if (impl_->dirty) return impl_->step;
  TENON_ASSIGN(const std::optional<BundleReader> reader, impl_->newest(false));
  if (!reader) return std::max<int64_t>(impl_->step, 0);
  return reader->read_scalar("global_step");
}

Result<std::vector<Estimator::VariableInfo>> Estimator::variables(const Dataset& input) {
  Impl& m = *impl_;
  TENON_ASSIGN(const ModeGraph mode,
               build_mode_graph(m.model, m.params, input.specs(), input.options().batch_size, Mode::kPredict));
  std::vector<VariableInfo> out;
  for (const Variable& v : mode.graph->variables)
    if (v.kind == VariableKind::kWeight)
      out.push_back({v.name, mode.graph->type(mode.graph->inputs[v.input].value), v.trainable});
  return out;
}

Result<Estimator::ParameterCount> Estimator::count_parameters(const Dataset& input) {
  TENON_ASSIGN(const std::vector<VariableInfo> all, variables(input));
  ParameterCount count;
  for (const VariableInfo& v : all) {
    count.total += v.type.shape.elements();
    if (v.trainable) count.trainable += v.type.shape.elements();
  }
  return count;
}

Result<std::string> Estimator::graph_text(const Dataset& input, Mode mode, bool lowered) {
  Impl& m = *impl_;
  TENON_ASSIGN(const ModeGraph built,
               build_mode_graph(m.model, m.params, input.specs(), input.options().batch_size, mode));
  if (!lowered) return to_text(*built.graph);
  TENON_TRY(m.open());
  TENON_ASSIGN(const Graph graph, lower(*built.graph, *m.device));
  return to_text(graph);
}

Result<std::string> Estimator::variables_hash() const {
  if (!impl_->states || impl_->states->empty()) return Status(Code::kUnavailable, "there are no variables yet");
  return impl_->states->hash();
}

// ---- train and evaluate ----

Result<TrainAndEvaluateResult> train_and_evaluate(Estimator& estimator, const TrainSpec& train, const EvalSpec& eval) {
  if (train.max_steps <= 0) return invalid("train_and_evaluate: max_steps is ", train.max_steps, ", expected 1 or more");
  TrainAndEvaluateResult result;
  TENON_ASSIGN(int64_t step, estimator.global_step());
  do {
    const int64_t target = std::min(step + std::max<int64_t>(train.steps_between_evals, 1), train.max_steps);
    TENON_ASSIGN(result.train, estimator.train({.input = train.input, .max_steps = target, .hooks = train.hooks}));
    TENON_ASSIGN(result.eval, estimator.evaluate({.input = eval.input, .steps = eval.steps}));
    const bool stopped = result.train.global_step < target;
    step = result.train.global_step;
    if (stopped) break;
  } while (step < train.max_steps);
  return result;
}

}  // namespace tenon
