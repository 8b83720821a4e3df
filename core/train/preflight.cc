#include "tenon/preflight.h"

#include <algorithm>

#include "backend/forecast.h"
#include "backend/registry.h"
#include "base/text.h"
#include "step/program.h"
#include "train/model_function.h"

namespace tenon {
namespace {

// Nodes by the numbers that the device knows them by: constants are no nodes there.
class DeviceNodes {
 public:
  explicit DeviceNodes(const Graph& graph) : graph_(graph) {
    for (const Node& node : graph.nodes)
      if (node.op != "constant") nodes_.push_back(&node);
  }

  const Node* find(uint32_t number) const { return number < nodes_.size() ? nodes_[number] : nullptr; }

  // Of the node's result that has so many bytes.
  std::string type_of(const Node& node, uint64_t bytes) const {
    for (const ValueId v : node.results)
      if (static_cast<uint64_t>(graph_.type(v).bytes()) == bytes) return graph_.type(v).str();
    return {};
  }

 private:
  const Graph& graph_;
  std::vector<const Node*> nodes_;
};

void sort_by_size(PlannedMemory& memory) {
  std::stable_sort(memory.allocations.begin(), memory.allocations.end(),
                   [](const PlannedAllocation& a, const PlannedAllocation& b) { return a.bytes > b.bytes; });
}

PlannedMemory memory_of(const ProgramInfo& info, const DeviceNodes& nodes) {
  PlannedMemory out{info.capacity_bytes,  info.peak_bytes, info.argument_bytes, info.result_bytes,
                    info.workspace_bytes, info.code_bytes, info.reserved_bytes, {}};
  for (const ProgramAllocation& a : info.allocations) {
    PlannedAllocation p{.bytes = a.bytes, .dense_bytes = a.dense_bytes, .offset = a.offset};
    if (const Node* node = nodes.find(a.node)) {
      p.name = node->name;
      p.op = node->op;
      p.type = nodes.type_of(*node, a.dense_bytes);
    }
    out.allocations.push_back(std::move(p));
  }
  sort_by_size(out);
  return out;
}

void add_arguments(PlannedMemory& memory, const PredictedStep& step, const Graph& graph) {
  for (const PredictedArgument& a : step.arguments) {
    if (a.input >= graph.inputs.size()) continue;
    const GraphInput& input = graph.inputs[a.input];
    PlannedAllocation p{.bytes = a.bytes, .dense_bytes = a.dense_bytes};
    p.name = input.name;
    p.type = graph.type(input.value).str();
    memory.allocations.push_back(std::move(p));
  }
}

void name_kernels(PredictedStep& step, const DeviceNodes& nodes) {
  for (PredictedKernel& k : step.kernels)
    if (const Node* node = nodes.find(k.node)) {
      k.name = node->name;
      k.op = node->op;
    }
}

// What a device says of a model, as against what went wrong.
bool is_verdict(Code code) {
  return code == Code::kInvalid || code == Code::kUnsupported || code == Code::kOutOfMemory;
}

Status give_verdict(const Status& status, Preflight& out) {
  if (!is_verdict(status.code())) return status;
  out.verdict = status.code() == Code::kOutOfMemory ? Verdict::kOutOfMemory : Verdict::kRefused;
  out.status = status;
  return {};
}

// Compiles the graph for being asked only.
Status ask(const Graph& graph, const std::shared_ptr<Device>& device, const ProgramOptions& compile, Preflight& out) {
  Result<Graph> lowered = lower(graph, *device, compile);
  if (!lowered.ok()) return give_verdict(lowered.status(), out);
  const DeviceNodes nodes(*lowered);
  ProgramInfo info;
  const Result<Program> program = device->compile(flatten(*lowered), compile, &info);
  if (program.ok() || program.status().code() == Code::kOutOfMemory) out.memory = memory_of(info, nodes);
  out.warnings = info.warnings;
  if (!program.ok()) return give_verdict(program.status(), out);
  TENON_ASSIGN(out.step, forecast(*device, *program));
  name_kernels(out.step, nodes);
  add_arguments(out.memory, out.step, *lowered);
  sort_by_size(out.memory);
  out.verdict = Verdict::kAccepted;
  return {};
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
  if (options.iterations_per_loop < 1)
    return invalid("preflight: iterations_per_loop is ", options.iterations_per_loop, ", expected 1 or more");
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
  TENON_ASSIGN(const Trace traced, trace_model(model, params, features, options.batch_size, Mode::kTrain, spread));
  out.parameters = count_parameters(*traced.graph);
  ProgramOptions compile;
  compile.deterministic = true;  // no kernel is tried by the clock
  compile.max_iterations = options.iterations_per_loop;
  compile.settings = options.soft_placement ? cat(kForecastOnly, ",", kSoftPlacement) : kForecastOnly;
  TENON_TRY(ask(*traced.graph, impl_->device, compile, out));
  return out;
}

Result<Preflight> preflight(const ModelFn& model, const Params& params, const std::vector<FeatureSpec>& features,
                            const std::string& device, const PreflightOptions& options) {
  TENON_ASSIGN(const Preflighter machine, Preflighter::open(device));
  return machine.run(model, params, features, options);
}

Result<std::vector<std::string>> machine_names(std::string_view backend) { return forecast_machines(backend); }

}  // namespace tenon
