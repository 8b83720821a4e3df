// What all of the Estimator's modes share: the device, programs, states, checkpoints; inspection.
#include "base/caught.h"
#include "exchange/world.h"
#include "step/plan/named_plan.h"
#include "tenon/processes.h"
#include "train/estimator_impl.h"
#include "train/estimator_log.h"
#include "train/export/export_outputs.h"

namespace tenon {
namespace {

constexpr std::string_view kSamples = "tenon/input_samples";
constexpr std::string_view kFingerprint = "tenon/input_fingerprint";
constexpr std::string_view kData = "tenon/input_data";  // checkpoints of before it was written have none

// A variable of the checkpoint that a graph that trains would leave behind, or "".
std::string unused_variable(const Graph& graph, const TensorFile& file) {
  const auto trains = [](const Variable& v) { return v.kind == VariableKind::kCounter; };
  if (std::none_of(graph.variables.begin(), graph.variables.end(), trains)) return {};
  for (const auto& [name, type] : file.tensors())
    if (!name.starts_with("tenon/") && !graph.find_variable(name)) return name;
  return {};
}

// Files of weights alone do not say it.
Result<int64_t> step_of(const TensorFile& file) { return file.scalar("global_step", 0); }

}  // namespace

Estimator::Estimator(ModelFn model, RunConfig config, Params params, std::optional<WarmStartSettings> warm_start_from)
    : impl_(std::make_unique<Impl>()) {
  impl_->model = std::move(model);
  impl_->config = std::move(config);
  impl_->params = std::move(params);
  impl_->warm_start_from = std::move(warm_start_from);
  if (is_first_process()) impl_->events = console_events(impl_->config.log_lines);
}
Estimator::~Estimator() = default;
Estimator::Estimator(Estimator&&) noexcept = default;

void Estimator::set_events(RunEvents events) { impl_->events = std::move(events); }
const RunConfig& Estimator::config() const { return impl_->config; }

std::string Estimator::Impl::passed_over(const StepPipeline& pipeline) {
  const int64_t records = pipeline.corrupt_records();
  if (records == 0) return {};
  std::string line = cat("; left out ", records, records == 1 ? " corrupt record" : " corrupt records");
  for (const std::string& file : pipeline.lost()) append(line, cat("; ", file));
  return line;
}

void Estimator::Impl::report_corrupt(const StepPipeline& pipeline) const {
  if (const std::string text = passed_over(pipeline); !text.empty()) info(text.substr(2));
}

// The newest checkpoint of model_dir.
Result<std::optional<TensorFile>> Estimator::Impl::newest(bool required) {
  std::optional<FoundCheckpoint> found;
  if (!config.model_dir.empty()) {
    TENON_ASSIGN(found, latest_checkpoint(config.model_dir));
  }
  if (found) {
    for (const std::string& warning : found->warnings)
      if (warned.insert(warning).second) info(warning);
    return std::optional<TensorFile>(std::in_place, std::move(found->reader));
  }
  if (required && !config.begins_trained)
    return Status(Code::kUnavailable, config.model_dir.empty() ? "the model was not trained and has no model_dir"
                                                               : cat(config.model_dir, ": has no checkpoint"));
  return std::optional<TensorFile>();
}

// Puts the program's states on the device: those that training left there, or the newest checkpoint's, which another
// process may have written, or first values.
Status Estimator::Impl::provide(const Graph& graph, bool required) {
  if (dirty) return states->provide(graph, nullptr);
  TENON_ASSIGN(const std::optional<TensorFile> checkpoint, newest(required));
  if (!checkpoint) {
    step = std::max<int64_t>(step, 0);
    return warm_start_from && states->empty() ? warm_start(graph, required) : states->provide(graph, nullptr);
  }
  if (checkpoint->path() == loaded) {
    log(cat("Restoring parameters from ", loaded));
    return states->provide(graph, &*checkpoint);
  }
  if (warm_start_from && states->empty())
    tenon_line(
        cat("no warm start from ", warm_start_from->ckpt_to_initialize_from, ": the directory has a checkpoint"));
  const Status status = restore(graph, *checkpoint);
  if (!status.ok()) discard();
  return status;
}

Status Estimator::Impl::restore(const Graph& graph, const TensorFile& checkpoint) {
  tenon_line(cat("restoring ", checkpoint.path()));
  log(cat("Restoring parameters from ", checkpoint.path()));
  if (const std::string name = unused_variable(graph, checkpoint); !name.empty())
    info(cat(checkpoint.path(), " has variables that this model and optimizer do not use, '", name,
             "' is one; they are not carried over"));
  discard();
  std::vector<std::string> anew;
  TENON_TRY(states->provide(graph, &checkpoint, &anew));
  if (!anew.empty())
    info(cat(checkpoint.path(), " lacks what the optimizer keeps: ", some_names(anew),
             anew.size() == 1 ? " begins anew" : " begin anew"));
  TENON_ASSIGN(step, step_of(checkpoint));
  TENON_ASSIGN(input, input_of(checkpoint));
  loaded = checkpoint.path();
  return {};
}

// What cannot be opened is provide()'s to tell.
void Estimator::Impl::log_warm_start(const Graph& graph) {
  if (!warm_start_from || dirty || !states->empty()) return;
  const Result<std::optional<TensorFile>> own = newest(false);
  if (!own.ok() || *own) return;
  log(cat("Warm-starting with WarmStartSettings: ", estimator_log::warm_start(*warm_start_from)));
  log(cat("Warm-starting from: ", warm_start_from->ckpt_to_initialize_from));
  if (warm_start_from->vars_to_warm_start.among() == VarsToWarmStart::Among::kTrainable)
    log("Warm-starting variables only in TRAINABLE_VARIABLES.");
  const Result<WarmStart> from = WarmStart::open(*warm_start_from);
  if (!from.ok()) return;
  const auto chosen = std::count_if(graph.variables.begin(), graph.variables.end(), [&](const Variable& v) {
    return from->selects(v.name, {v.kind, v.trainable});
  });
  log(cat("Warm-started ", chosen, " variables."));
}

Status Estimator::Impl::warm_start(const Graph& graph, bool whole) {
  TENON_ASSIGN(WarmStart from, WarmStart::open(*warm_start_from));
  Status status = states->warm_start(std::move(from));
  if (status.ok()) status = states->provide(graph, nullptr);
  if (status.ok()) status = states->warm_started()->finish();
  if (status.ok() && whole) status = states->warm_started()->whole();
  if (!status.ok()) return discard(), status;
  const WarmStartReport report = states->warm_started()->report();
  if (events.on_warm_start)
    events.on_warm_start(report);
  else if (!estimator_log() || !states->warm_started()->is_whole())
    info(report.text());
  states->end_warm_start();
  if (report.loaded.contains("global_step")) {
    TENON_ASSIGN(const Array value, states->read("global_step"));
    step = static_cast<int64_t>(value.item());
  }
  return {};
}

Result<PipelineState> Estimator::Impl::input_of(const TensorFile& checkpoint) {
  TENON_ASSIGN(const int64_t samples, checkpoint.scalar(kSamples, 0));
  TENON_ASSIGN(const int64_t fingerprint, checkpoint.scalar(kFingerprint, 0));
  TENON_ASSIGN(const int64_t data, checkpoint.scalar(kData, 0));
  return PipelineState{static_cast<uint64_t>(samples), static_cast<uint64_t>(fingerprint), static_cast<uint64_t>(data)};
}

Result<InferenceStates> Estimator::Impl::provide(const Graph& graph, const std::string& prefix) {
  if (prefix.empty()) {
    TENON_TRY(provide(graph, true));
    return InferenceStates{nullptr, states.get(), step};
  }
  TENON_ASSIGN(TensorFile checkpoint, TensorFile::open(prefix));
  tenon_line(cat("restoring ", checkpoint.path()));
  log(cat("Restoring parameters from ", checkpoint.path()));
  InferenceStates out{std::make_unique<VariableStore>(device, queue, config.seed)};
  out.states = out.own.get();
  TENON_ASSIGN(out.step, step_of(checkpoint));
  if (!checkpoint.is_checkpoint()) {  // weights of others, which may lie there by their order alone
    const WarmStartSettings all{
        .ckpt_to_initialize_from = prefix,
        .vars_to_warm_start = {std::vector<std::string>{".*"}, VarsToWarmStart::Among::kWeights},
        .skip_mismatch = true};
    TENON_ASSIGN(WarmStart from, WarmStart::of(all, std::move(checkpoint)));
    TENON_TRY(out.own->warm_start(std::move(from)));
    TENON_TRY(out.own->provide(graph, nullptr));
    TENON_TRY(out.own->warm_started()->whole());
    out.own->end_warm_start();
    return out;
  }
  TENON_TRY(out.own->provide(graph, &checkpoint));
  return out;
}

void Estimator::Impl::discard() {
  states = std::make_unique<VariableStore>(device, queue, config.seed);
  step = -1;
  input = {};
  dirty = false;
  loaded.clear();
  parked.clear();
}

namespace {

Status add_input(BundleWriter& writer, const PipelineState& at) {
  TENON_TRY(writer.add_scalar(kSamples, static_cast<int64_t>(at.samples)));
  TENON_TRY(writer.add_scalar(kFingerprint, static_cast<int64_t>(at.fingerprint)));
  return writer.add_scalar(kData, static_cast<int64_t>(at.data));
}

Status with_step(const Status& why, int64_t step) {
  return Status(why.code(), cat("after step ", step, " ", why.message()));
}

}  // namespace

void Estimator::Impl::saved_as(const std::string& path, int64_t at_step) {
  log(cat("Calling checkpoint listeners after saving checkpoint ", at_step, "..."));
  loaded = path;
  if (events.on_checkpoint) events.on_checkpoint(at_step, path);
}

Status Estimator::Impl::save(CheckpointManager& manager, const PipelineState& at, bool* finite) {
  *finite = true;
  const FillBundle fill = [&](BundleWriter& writer) -> Status {
    const Status saved = states->save(writer, finite);
    if (!*finite) return with_step(saved, step);
    TENON_TRY(saved);
    return add_input(writer, at);
  };
  log(cat("Calling checkpoint listeners before saving checkpoint ", step, "..."));
  log(cat("Saving checkpoints for ", step, " into ", config.model_dir, "/model.ckpt."));
  std::string path;
  const Status saved = as_first_does([&]() -> Status {
    TENON_ASSIGN(path, manager.save(step, fill, sound));
    return {};
  });
  *finite = as_first_says(*finite);
  TENON_TRY(saved);
  if (World* const world = World::joined()) {
    TENON_ASSIGN(path, world->first_tells(path));
  }
  dirty = false;
  saved_as(path, step);
  return {};
}

Status Estimator::Impl::save_copy(CheckpointManager& manager, const PipelineState& at, bool* finite,
                                  BackgroundSave& background) {
  TENON_TRY(collect(background, finite));
  VariableStore::AllKept kept;
  const Status copied = as_first_does([&]() -> Status {
    TENON_ASSIGN(kept, states->keep());
    return {};
  });
  if (copied.code() == Code::kOutOfMemory) return save(manager, at, finite);
  TENON_TRY(copied);
  log(cat("Calling checkpoint listeners before saving checkpoint ", step, "..."));
  log(cat("Saving checkpoints for ", step, " into ", config.model_dir, "/model.ckpt."));
  dirty = false;
  if (!is_first_process()) return {};
  const auto copy = std::make_shared<const VariableStore::AllKept>(std::move(kept));
  background.start(step, [&manager, copy, at, is_sound = sound](SavedCheckpoint& saved) -> Status {
    const FillBundle fill = [&](BundleWriter& writer) -> Status {
      for (const auto& [name, kept] : *copy) {
        saved.finite = all_finite(kept.value.dtype(), kept.value.bytes());
        if (!saved.finite) return with_step(not_finite_variable(name), saved.step);
        TENON_TRY(writer.add(name, kept.value.type(), kept.value.bytes()));
      }
      return add_input(writer, at);
    };
    TENON_ASSIGN(saved.path, caught([&] { return manager.save(saved.step, fill, is_sound); }));
    return {};
  });
  return {};
}

Status Estimator::Impl::collect(BackgroundSave& background, bool* finite) {
  SavedCheckpoint saved;
  bool any = false;
  const Status status = as_first_does([&]() -> Status {
    TENON_ASSIGN(any, background.collect(&saved));
    return {};
  });
  *finite = as_first_says(saved.finite);
  if (!status.ok()) return dirty = true, status;
  if (!as_first_says(any)) return {};
  if (World* const world = World::joined()) {
    TENON_ASSIGN(saved.path, world->first_tells(saved.path));
    TENON_ASSIGN(const std::string at, world->first_tells(cat(saved.step)));
    saved.step = std::stoll(at);
  }
  saved_as(saved.path, saved.step);
  return {};
}

Result<int64_t> Estimator::global_step() const {
  if (impl_->dirty) return impl_->step;
  TENON_ASSIGN(const std::optional<TensorFile> checkpoint, impl_->newest(false));
  if (!checkpoint) return std::max<int64_t>(impl_->step, 0);
  return step_of(*checkpoint);
}

Result<std::vector<ExportSignature>> Estimator::signatures(const Dataset& input) {
  TENON_ASSIGN(ExportTrace exported,
               trace_exports(impl_->model, impl_->params, input.specs(), input.options().batch_size));
  return std::move(exported.signatures);
}

Result<std::vector<Estimator::VariableInfo>> Estimator::variables(const Dataset& input) {
  Impl& m = *impl_;
  const Mode mode = are_labelled(input.specs()) ? Mode::kTrain : Mode::kPredict;  // which may have a part of them
  TENON_ASSIGN(const Trace traced, trace_model(m.model, m.params, input.specs(), input.options().batch_size, mode));
  const Graph& graph = *traced.graph;
  std::vector<VariableInfo> out;
  for (const Variable& v : graph.variables)
    if (v.kind == VariableKind::kWeight) out.push_back({v.name, graph.type(graph.inputs[v.input].value), v.trainable});
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

Result<std::string> Estimator::graph_text(const Dataset& input, Mode mode, bool lowered, bool bounded_batch) {
  Impl& m = *impl_;
  if (lowered) TENON_TRY(m.open());
  const Spread spread = lowered ? spread_over(*m.device, m.config) : Spread();
  TENON_ASSIGN(const Trace built, trace_model(m.model, m.params, input.specs(), input.options().batch_size, mode,
                                              spread, bounded_batch, between_replicas(m.config)));
  if (!lowered) return to_text(*built.graph);
  TENON_ASSIGN(const Graph graph, lower(*built.graph, *m.device, compile_options(m.config, 1)));
  return to_text(graph);
}

Result<StepPlan> Estimator::plan(const Dataset& input, Mode mode) {
  Impl& m = *impl_;
  TENON_TRY(m.open());
  TENON_ASSIGN(const Trace built, trace_model(m.model, m.params, input.specs(), input.options().batch_size, mode,
                                              spread_over(*m.device, m.config), false, between_replicas(m.config)));
  return step_plan(*built.graph, m.device, compile_options(m.config, 1));
}

Result<std::string> Estimator::variables_hash() const {
  if (!impl_->device && !impl_->hash.empty()) return impl_->hash;
  if (!impl_->states || impl_->states->empty()) return Status(Code::kUnavailable, "there are no variables yet");
  return impl_->states->hash();
}

}  // namespace tenon
