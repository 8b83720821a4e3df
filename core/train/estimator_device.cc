// The Estimator's device: opened when it is needed first, closed where the log wants it; programs for it.
#include "exchange/world.h"
#include "train/estimator_impl.h"
#include "train/estimator_log.h"

namespace tenon {
namespace {

// What the first batch that a TPU takes is announced with.
bool begins_feed(const std::string& line) { return line.starts_with("Enqueue next"); }

}  // namespace

void Estimator::Impl::device_line(const std::string& line, bool detail) {
  if (reopening || (detail && !estimator_log() && !events.device_details)) return;
  if (!before_feed.empty() && begins_feed(line)) log(std::exchange(before_feed, {}));
  const auto& tell = events.on_device_log ? events.on_device_log : events.on_info;
  if (tell) tell(line);
}

Status Estimator::Impl::open() {
  if (device) return {};
  TENON_TRY(check_config());
  TENON_ASSIGN(const ResolvedDevice found, resolve_device(config.device));
  if (!configured) log(cat("Using config: ", estimator_log::config(config)));
  if (!configured && found.kind == "accelerator") log("_TPUContext: eval_on_tpu True");
  reopening = configured && estimator_log();
  configured = true;
  Result<std::shared_ptr<Device>> opened = open_joined_device(config.device);
  if (device_log) device_log->flush();
  reopening = false;
  TENON_ASSIGN(device, std::move(opened));
  if (const Status status = check_tpu_config(); !status.ok()) {
    device.reset();
    return status;
  }
  if (config.tpu && config.iterations_per_loop == 0 && (device->replicas() > 1 || on_tpu()))
    config.iterations_per_loop = config.tpu->iterations_per_loop;
  if (config.device == "tpu")
    info(cat(found.searched, "; took ", device->name(), ", ", device->replicas(),
             device->replicas() == 1 ? " replica" : " replicas", " in sync"));
  for (const Refusal& r : found.passed_over) {
    const std::string line = cat("passed over ", r.path, ": ", r.cause);
    r.expected ? device_line(line, true) : warn(line);
  }
  tenon_line(cat("using device ", device->name(), " (", device->units()[0].name,
                 device->units().size() > 1 ? cat(", ", device->units().size(), " units") : "",
                 device->processes() > 1 ? cat(", in each of ", device->processes(), " processes") : "", ")"));
  TENON_ASSIGN(queue, device->create_queue());
  states = std::make_unique<VariableStore>(device, queue, config.seed);
  return states->put(std::exchange(parked, {}));
}

Status Estimator::Impl::park() {
  Result<VariableStore::AllKept> kept = states->keep();
  if (kept.ok())
    parked = kept.take();
  else
    discard();
  return kept.status();
}

Status Estimator::Impl::close() {
  if (!device) return {};
  Status status;
  hash.clear();
  if (states && !states->empty()) {
    Result<std::string> now = states->hash();
    if (now.ok()) hash = now.take();
    if (dirty) status = park();
  }
  states.reset();
  queue = Queue();
  device.reset();
  if (device_log) device_log->flush();
  return status;
}

Status Estimator::close() {
  const Impl::Listening listening(*impl_);
  return impl_->close();
}

void Estimator::Impl::warn(const std::string& lines) {
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    const std::string line = lines.substr(at, end - at);
    if (!line.empty() && warned.insert(line).second) info(line);
    at = end + 1;
  }
}

Result<StepInput> Estimator::Impl::step_input(const TrainInput& input, Mode mode) {
  TENON_TRY(open());
  Spread spread = spread_over(*device, config);
  if (mode != Mode::kTrain) spread.input = InputPipelineConfig::kSliced;
  if (input.data() || input.batch_size() != 0) return StepInput::make(input, spread, params, mode);
  const int64_t batch = mode == Mode::kTrain  ? config.train_batch_size
                        : mode == Mode::kEval ? config.eval_batch_size
                                              : config.predict_batch_size;
  if (batch < 1)
    return invalid("the input function was given no batch size, and RunConfig.", mode_name(mode), "_batch_size is ",
                   batch, ", expected 1 or more");
  return StepInput::make(TrainInput(input.function(), batch), spread, params, mode);
}

// The lines of its first call.
TensorFunction Estimator::Impl::with_lines(TensorFunction function, Mode mode) {
  return [this, function = std::move(function), mode, first = true](const Features& features) mutable {
    if (!std::exchange(first, false)) return function(features);
    log("Calling model_fn.");
    if (on_tpu() && mode == Mode::kTrain) log("Bypassing TPUEstimator hook");
    if (!on_tpu() && mode == Mode::kTrain) log("Running train on CPU/GPU");
    if (!on_tpu() && mode == Mode::kEval) log("Running eval on CPU/GPU");
    Outputs out = function(features);
    log("Done calling model_fn.");
    if (mode == Mode::kTrain && estimator_log()) log_warm_start(*features.all().begin()->second.graph());
    if (mode == Mode::kTrain && !config.model_dir.empty()) log("Create CheckpointSaverHook.");
    if (mode == Mode::kEval) log(cat("Starting evaluation at ", estimator_log::now()));
    return out;
  };
}

Result<std::unique_ptr<TracedFunction>> Estimator::Impl::function(const std::vector<FeatureSpec>& specs, int64_t batch,
                                                                  Mode mode, int max_iterations, bool told,
                                                                  Remainder remainder) {
  TENON_TRY(open());
  const Spread spread = spread_over(*device, config);
  TENON_TRY(spread.check_batch(batch, mode));
  TENON_ASSIGN(const TraceOptions tracing, model_tracing(params, mode, spread.replicas, between_replicas(config)));
  TensorFunction traced = model_function(model, params, specs, mode, spread, mode == Mode::kEval ? &metrics : nullptr);
  auto out = std::make_unique<TracedFunction>(
      told ? with_lines(std::move(traced), mode) : std::move(traced), device, queue,
      TracedFunctionOptions{
          .tracing = tracing,
          .compile = compile_options(config, max_iterations),
          .seed = config.seed,
          .remainder = remainder,
          .compiled = [this](const Graph&, const Executable& program) { warn(program.info().warnings); }});
  TENON_TRY(out->prepare(specs, batch));
  if (told && on_tpu()) log("TPU job name worker");
  if (told) log("Graph was finalized.");
  return out;
}

}  // namespace tenon
