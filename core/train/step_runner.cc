#include "tenon/step_runner.h"

#include <chrono>

#include "backend/registry.h"
#include "base/text.h"
#include "step/batch_feed.h"
#include "step/program.h"
#include "train/model_function.h"
#include "train/node_times.h"

namespace tenon {
namespace {

Status check_indices(const StepProgram& program, const MemoryFeature& f, int64_t batch_size) {
  const int64_t share = batch_size / program.executable().graph.replicas;
  for (const IndexRange& range : program.indices()) {
    if (range.feature != f.spec.name) continue;
    const Outside found = find_outside(range, f.data.data(), f.spec.type.dtype, batch_size,
                                       f.spec.type.shape.elements(), f.spec.batch_minor ? share : 0);
    if (found.row >= 0) return invalid("example ", found.row, ": ", outside_message(range, found.value));
  }
  return {};
}

// HOST buffers with the batch, one a FEED input of the program.
Result<std::vector<Buffer>> place(const StepProgram& program, const std::vector<MemoryFeature>& batch,
                                  int64_t batch_size, Queue& queue) {
  const Executable& executable = program.executable();
  std::vector<Buffer> out;
  for (const GraphInput& input : executable.graph.inputs) {
    if (input.role != Role::kFeed) continue;
    for (const MemoryFeature& f : batch) {
      if (f.spec.name != input.name) continue;
      const Type type = dealt_type(f.spec, batch_size, executable.graph.replicas);
      if (static_cast<int64_t>(f.data.size()) != type.bytes())
        return invalid("feature '", f.spec.name, "' has ", f.data.size(), " bytes, expected ", type.bytes());
      TENON_TRY(check_indices(program, f, batch_size));
      TENON_ASSIGN(Buffer buffer, executable.device->allocate(type, true, input.split));
      TENON_TRY(queue.write(buffer, f.data.data(), f.data.size()));
      out.push_back(std::move(buffer));
    }
  }
  return out;
}

}  // namespace

struct StepRunner::Impl {
  std::shared_ptr<Device> device;
  Queue queue;
  std::unique_ptr<VariableStore> states;
  std::unique_ptr<StepProgram> program;
  std::vector<Buffer> feeds;
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
  TENON_ASSIGN(impl->device, open_device(config.device));
  TENON_ASSIGN(impl->queue, impl->device->create_queue());
  TENON_ASSIGN(const Trace traced,
               trace_model(model, params, specs, batch_size, mode, spread_over(*impl->device, config)));
  impl->parameters = count_parameters(*traced.graph);
  TENON_ASSIGN(impl->program,
               StepProgram::create(traced, impl->device, compile_options(config, max_steps), config.seed));
  impl->states = std::make_unique<VariableStore>(impl->device, impl->queue, config.seed);
  TENON_TRY(impl->states->provide(impl->program->executable().graph, nullptr));
  impl->program->bind(*impl->states);
  TENON_ASSIGN(impl->feeds, place(*impl->program, batch, batch_size, impl->queue));
  std::vector<const Buffer*> feeds;
  for (const Buffer& b : impl->feeds) feeds.push_back(&b);
  impl->program->bind_feeds(feeds);
  return StepRunner(std::move(impl));
}

Result<float> StepRunner::run(int steps) {
  const auto n = static_cast<uint32_t>(steps);
  TENON_ASSIGN(const uint32_t done, impl_->program->run(impl_->queue, n, nullptr));
  if (done < n) return invalid("the loss is not finite at step ", done, " of ", steps);
  if (impl_->mode == Mode::kPredict) return 0.0f;
  std::vector<float> losses;
  TENON_TRY(impl_->program->read_rows(impl_->queue, "loss", n, losses));
  return losses.back();
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
  StepProfile out{predicted, taken.count() / n, times.means(impl_->program->executable().graph, n)};
  if (!predicted) return out;
  out.step_ms = 0;
  for (const NodeTime& node : out.nodes) out.step_ms += node.ms;
  return out;
}

const std::string& StepRunner::device() const { return impl_->device->name(); }
int64_t StepRunner::parameters() const { return impl_->parameters; }
uint64_t StepRunner::peak_bytes() const { return impl_->device->bytes_peak(); }

}  // namespace tenon
