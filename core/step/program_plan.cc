#include "step/program_plan.h"

#include <algorithm>

#include "backend/forecast.h"
#include "base/text.h"
#include "step/padded_layers.h"

namespace tenon {
namespace {

// Nodes by the numbers that the device knows them by.
class DeviceNodes {
 public:
  explicit DeviceNodes(const Graph& graph) : graph_(graph), nodes_(image_nodes(graph)) {}

  const Node* find(uint32_t number) const {
    return number < nodes_.size() ? &graph_.nodes[static_cast<size_t>(nodes_[number])] : nullptr;
  }

  // Of the node's result that has so many bytes.
  std::string type_of(const Node& node, uint64_t bytes) const {
    for (const ValueId v : node.results)
      if (static_cast<uint64_t>(graph_.type(v).bytes()) == bytes) return graph_.type_text(v);
    return {};
  }

 private:
  const Graph& graph_;
  std::vector<NodeId> nodes_;
};

void add_allocations(PlannedMemory& memory, const ProgramInfo& info, const Graph& graph) {
  const DeviceNodes nodes(graph);
  for (const ProgramAllocation& a : info.allocations) {
    PlannedAllocation p{.bytes = a.bytes, .dense_bytes = a.dense_bytes, .offset = a.offset};
    if (const Node* node = nodes.find(a.node)) {
      p.name = node->name;
      p.op = node->op;
      p.type = nodes.type_of(*node, a.dense_bytes);
    }
    memory.allocations.push_back(std::move(p));
  }
}

void add_arguments(PlannedMemory& memory, const PredictedStep& step, const Graph& graph) {
  for (const PredictedArgument& a : step.arguments) {
    if (a.input >= graph.inputs.size()) continue;
    const GraphInput& input = graph.inputs[a.input];
    PlannedAllocation p{.bytes = a.bytes, .dense_bytes = a.dense_bytes};
    p.name = input.name;
    p.type = graph.type_text(input.value);
    memory.allocations.push_back(std::move(p));
  }
}

PlannedMemory memory_of(const ProgramInfo& info, const PredictedStep& step, const Graph& graph) {
  PlannedMemory out{info.capacity_bytes,  info.peak_bytes, info.argument_bytes, info.result_bytes,
                    info.workspace_bytes, info.code_bytes, info.reserved_bytes, {}};
  add_allocations(out, info, graph);
  add_arguments(out, step, graph);
  std::stable_sort(out.allocations.begin(), out.allocations.end(),
                   [](const PlannedAllocation& a, const PlannedAllocation& b) { return a.bytes > b.bytes; });
  return out;
}

// What a device says of a program, as against what went wrong.
bool is_verdict(Code code) {
  return code == Code::kInvalid || code == Code::kUnsupported || code == Code::kOutOfMemory;
}

}  // namespace

PlannedMemory planned_memory(const Executable& executable) {
  return memory_of(executable.program.info(), {}, executable.graph);
}

Result<PredictedStep> predicted_step(const Executable& executable) {
  TENON_ASSIGN(PredictedStep step, forecast(*executable.device, executable.program));
  const DeviceNodes nodes(executable.graph);
  for (PredictedKernel& k : step.kernels)
    if (const Node* node = nodes.find(k.node)) {
      k.name = node->name;
      k.op = node->op;
    }
  step.padded_layers = padded_layers(step, executable.graph);
  return step;
}

Result<ProgramPlan> plan_program(Trace traced, const std::shared_ptr<Device>& device, const ProgramOptions& options) {
  ProgramPlan out;
  ProgramOptions asked = options;
  asked.forecast_only = true;
  Untaken untaken;
  const Result<Executable> program = compile(*traced.graph, device, asked, &untaken);
  out.traced = std::move(traced);
  if (!program.ok()) {
    if (!is_verdict(program.status().code())) return program.status();
    out.refused = program.status();
    out.warnings = untaken.info.warnings;
    if (out.refused.code() == Code::kOutOfMemory) out.memory = memory_of(untaken.info, {}, untaken.graph);
    return out;
  }
  TENON_ASSIGN(out.step, predicted_step(*program));
  out.memory = memory_of(program->program.info(), out.step, program->graph);
  out.warnings = program->program.info().warnings;
  return out;
}

}  // namespace tenon
