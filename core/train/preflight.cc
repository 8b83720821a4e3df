#include "tenon/preflight.h"

#include "backend/forecast.h"
#include "backend/registry.h"
#include "base/strings.h"
#include "step/traced_function.h"
#include "train/model_function.h"

namespace tenon {
namespace {

Verdict verdict_of(const Status& refused) {
  if (refused.ok()) return Verdict::kAccepted;
  return refused.code() == Code::kOutOfMemory ? Verdict::kOutOfMemory : Verdict::kRefused;
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  return verdict == Verdict::kAccepted ? "accepted" : verdict == Verdict::kRefused ? "refused" : "oom";
}

struct Preflighter::Impl {
  std::shared_ptr<Device> device;
};

Preflighter::Preflighter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Preflighter::Preflighter(Preflighter&&) noexcept = default;
Preflighter::~Preflighter() = default;

Result<Preflighter> Preflighter::open(const std::string& device) {
  auto impl = std::make_unique<Impl>();
  TENON_ASSIGN(impl->device, open_device(device));
  if (!offers_forecast(*impl->device))
    return Status(Code::kUnsupported,
                  cat("device '", impl->device->name(), "' does not predict what a step would take"));
  return Preflighter(std::move(impl));
}

const std::string& Preflighter::device() const { return impl_->device->name(); }
int Preflighter::units() const { return impl_->device->replicas(); }

Result<Preflight> Preflighter::run(const ModelFn& model, const Params& params, const std::vector<FeatureSpec>& features,
                                   const PreflightOptions& options) const {
  if (options.batch_size < 1) return invalid("preflight: batch_size is ", options.batch_size, ", expected 1 or more");
  if (options.iterations_per_loop < 1 || options.iterations_per_loop > kMostStepsPerCall)
    return invalid("preflight: iterations_per_loop is ", options.iterations_per_loop, ", expected 1 to ",
                   kMostStepsPerCall);
  TENON_TRY(check_between({options.all_reduce_dtype, options.shard_optimizer_state}, "PreflightOptions"));
  const int replicas = units();
  Preflight out;
  out.batch_size = options.batch_size;
  if (options.batch_size % replicas) {
    out.status =
        invalid("train batch size ", options.batch_size, " must be divisible by number of replicas ", replicas);
    return out;
  }
  out.unit_batch_size = options.batch_size / replicas;
  const Spread spread = Spread::over(*impl_->device);
  TENON_TRY(spread.check_batch(options.batch_size, Mode::kTrain));
  TracedFunctionOptions step;
  TENON_ASSIGN(step.tracing, model_tracing(params, Mode::kTrain, replicas,
                                           {options.all_reduce_dtype, options.shard_optimizer_state}));
  step.compile.deterministic = true;  // no kernel is tried by the clock
  step.compile.max_iterations = options.iterations_per_loop;
  step.compile.soft_placement = options.soft_placement;
  Queue none;
  const TracedFunction train(model_function(model, params, features, Mode::kTrain, spread), impl_->device, none, step);
  TENON_ASSIGN(ProgramPlan planned,
               train.plan(batch_inputs(features, options.batch_size, replicas, options.bounded_batch)));
  const Graph& graph = *planned.traced.graph;
  for (const GraphInput& input : graph.inputs)
    if (input.role == Role::kFeed) out.inputs.push_back({input.name, graph.type_text(input.value)});
  out.parameters = count_parameters(graph);
  out.verdict = verdict_of(planned.refused);
  out.status = std::move(planned.refused);
  out.memory = std::move(planned.memory);
  out.step = std::move(planned.step);
  out.warnings = std::move(planned.warnings);
  return out;
}

Result<Preflight> preflight(const ModelFn& model, const Params& params, const std::vector<FeatureSpec>& features,
                            const std::string& device, const PreflightOptions& options) {
  TENON_ASSIGN(const Preflighter machine, Preflighter::open(device));
  return machine.run(model, params, features, options);
}

Result<std::vector<std::string>> machine_names(std::string_view backend) { return forecast_machines(backend); }

}  // namespace tenon
