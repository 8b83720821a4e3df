#include "tenon/step_runner.h"

#include <chrono>
#include <optional>

#include "base/strings.h"
#include "exchange/world.h"
#include "step/traced_function.h"
#include "train/model_function.h"
#include "train/profile/node_times.h"

namespace tenon {
namespace {

// The batch of each feature, which the units share.
Result<std::vector<GivenInput>> given(const std::vector<MemoryFeature>& batch, int64_t batch_size, int replicas) {
  std::vector<GivenInput> out;
  for (const MemoryFeature& f : batch) {
    const Type type = dealt_type(f.spec, batch_size, replicas);
    if (static_cast<int64_t>(f.data.size()) != type.bytes())
      return invalid("feature '", f.spec.name, "' has ", f.data.size(), " bytes, expected ", type.bytes());
    out.push_back({{f.spec.name, f.spec.batch_type(batch_size / replicas), true},
                   type,
                   f.data,
                   f.spec.batch_minor ? batch_size / replicas : 0});
  }
  return out;
}

}  // namespace

struct StepRunner::Impl {
  std::shared_ptr<Device> device;
  Queue queue;
  std::unique_ptr<VariableStore> states;
  std::optional<TracedFunction> step;
  const Graph* graph = nullptr;  // as the device has it
  int64_t parameters = 0;
  Mode mode = Mode::kTrain;
};

StepRunner::StepRunner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StepRunner::StepRunner(StepRunner&&) noexcept = default;
StepRunner::~StepRunner() = default;

Result<StepRunner> StepRunner::create(const ModelFn& model, const Params& params,
                                      const std::vector<MemoryFeature>& batch, int64_t batch_size,
                                      const RunConfig& config, int max_steps, Mode mode) {
  auto impl = std::make_unique<Impl>();
  impl->mode = mode;
  std::vector<FeatureSpec> specs;
  for (const MemoryFeature& f : batch) specs.push_back(f.spec);
  TENON_ASSIGN(impl->device, open_joined_device(config.device));
  TENON_ASSIGN(impl->queue, impl->device->create_queue());
  impl->states = std::make_unique<VariableStore>(impl->device, impl->queue, config.seed);
  const Spread spread = spread_over(*impl->device, config);
  TENON_TRY(spread.check_batch(batch_size, mode));
  TENON_ASSIGN(const TraceOptions tracing, model_tracing(params, mode, spread.replicas, between_replicas(config)));
  const auto compiled = [m = impl.get()](const Graph& traced, const Executable& program) {
    m->parameters = count_parameters(traced);
    m->graph = &program.graph;
  };
  impl->step.emplace(model_function(model, params, specs, mode, spread), impl->device, impl->queue,
                     TracedFunctionOptions{.tracing = tracing,
                                           .compile = compile_options(config, max_steps),
                                           .seed = config.seed,
                                           .variables = impl->states.get(),
                                           .compiled = compiled});
  TENON_ASSIGN(const std::vector<GivenInput> inputs, given(batch, batch_size, spread.replicas));
  TENON_TRY(impl->step->place(inputs));
  return StepRunner(std::move(impl));
}

Result<float> StepRunner::run(int steps) {
  const auto n = static_cast<uint32_t>(steps);
  TENON_ASSIGN(const StepCall call, impl_->step->repeat(n));
  if (call.steps < n) return invalid("the loss is not finite at step ", call.steps, " of ", steps);
  if (impl_->mode == Mode::kPredict) return 0.0f;
  TENON_ASSIGN(const Array losses, impl_->step->result(call, "loss"));
  return static_cast<float>(losses.row(losses.dim(0) - 1).item());
}

Result<StepProfile> StepRunner::profile(int calls, int steps) {
  const bool predicted = impl_->device->units().front().emulated;
  NodeTimes times(predicted);
  TENON_TRY(impl_->device->begin_trace(times));
  const auto begun = std::chrono::steady_clock::now();
  Status status;
  for (int i = 0; i < calls && status.ok(); ++i) status = run(steps).status();
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begun;
  TENON_TRY(impl_->device->end_trace());
  TENON_TRY(status);
  const int n = calls * steps;
  StepProfile out{predicted, taken.count() / n, times.means(*impl_->graph, n)};
  if (!predicted) return out;
  out.step_ms = 0;
  for (const NodeTime& node : out.nodes) out.step_ms += node.ms;
  return out;
}

double StepProfile::backward_share() const {
  double backward = 0, all = 0;
  for (const NodeTime& node : nodes) {
    all += node.ms;
    if (node.is_backward) backward += node.ms;
  }
  return all > 0 ? backward / all : 0;
}

const std::string& StepRunner::device() const { return impl_->device->name(); }
int64_t StepRunner::parameters() const { return impl_->parameters; }
uint64_t StepRunner::peak_bytes() const { return impl_->device->bytes_peak(); }

}  // namespace tenon
