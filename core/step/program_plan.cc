#include "step/program_plan.h"

#include <algorithm>

#include "backend/forecast.h"
#include "base/strings.h"
#include "compile/parted_program.h"
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

  // The type of the node's result that has so many bytes.
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

// What a part's program predicts, with the node numbers of the whole graph.
PredictedStep in_whole(PredictedStep step, const PlacedPart& part, const Graph& whole) {
  const auto node_of = [&](uint32_t n) { return n < part.nodes.size() ? part.nodes[n] : kNoNode; };
  const auto input_of = [&](uint32_t i) {
    const ValueId v = i < part.takes.size() ? part.takes[i] : kAbsent;
    return v < 0 || whole.values[v].node >= 0 ? kNoNode : static_cast<uint32_t>(whole.values[v].index);
  };
  for (PredictedKernel& k : step.kernels) k.node = node_of(k.node);
  for (PredictedArgument& a : step.arguments) a.input = input_of(a.input);
  for (PredictedPadding& p : step.paddings) {
    if (p.node >= 0)
      p.node = node_of(static_cast<uint32_t>(p.node));
    else
      p.index = input_of(p.index);
  }
  std::erase_if(step.arguments, [](const PredictedArgument& a) { return a.input == kNoNode; });
  std::erase_if(step.paddings, [](const PredictedPadding& p) { return p.node == kNoNode || p.index == kNoNode; });
  return step;
}

// The part runs behind what `all` has. What the longest part waits for is what the step waits for.
void append(PredictedStep& all, double& longest, PredictedStep part) {
  const double before = all.device_ms, host_ms = std::max(all.host_ms, part.host_ms);
  all.step_ms += part.step_ms - all.host_ms - part.host_ms + host_ms;
  all.host_ms = host_ms;
  if (part.step_ms > longest) {
    longest = part.step_ms;
    all.bottleneck = part.bottleneck;
    all.advice = part.advice;
  }
  for (PredictedKernel& k : part.kernels) k.start_ms += before;
  for (double PredictedStep::*time : {&PredictedStep::device_ms, &PredictedStep::infeed_ms, &PredictedStep::outfeed_ms,
                                      &PredictedStep::collective_ms, &PredictedStep::update_ms})
    all.*time += part.*time;
  all.flops += part.flops;
  const auto add = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  add(all.kernels, part.kernels);
  add(all.arguments, part.arguments);
  add(all.paddings, part.paddings);
}

// What crosses does so while neither side computes.
Result<PredictedStep> forecast_parts(const Executable& executable) {
  PredictedStep all;
  double longest = 0;
  for (const PlacedPart& part : executable.parted->parts) {
    if (part.kind != PartKind::kDevice) continue;
    TENON_ASSIGN(PredictedStep step, forecast(*executable.device, part.program.program));
    step = in_whole(std::move(step), part, executable.graph);
    if (all.machine.empty()) {
      longest = step.step_ms;
      all = std::move(step);
    } else {
      append(all, longest, std::move(step));
    }
  }
  const double crossing = all.crossing_ms(executable.parted->out_bytes, executable.parted->back_bytes);
  if (crossing > all.step_ms) all.bottleneck = "host";
  all.host_ms += crossing;
  all.step_ms += crossing;
  return all;
}

// What a device says of a program, as against what went wrong.
bool is_verdict(Code code) {
  return code == Code::kInvalid || code == Code::kUnsupported || code == Code::kOutOfMemory;
}

}  // namespace

PlannedMemory planned_memory(const Executable& executable) {
  return memory_of(executable.info(), {}, executable.graph);
}

Result<PredictedStep> predicted_step(const Executable& executable) {
  TENON_ASSIGN(PredictedStep step,
               executable.parted ? forecast_parts(executable) : forecast(*executable.device, executable.program));
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
  out.memory = memory_of(program->info(), out.step, program->graph);
  out.warnings = program->info().warnings;
  return out;
}

}  // namespace tenon
