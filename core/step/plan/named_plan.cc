#include "step/plan/named_plan.h"

#include <algorithm>

#include "backend/description.h"
#include "backend/forecast.h"
#include "base/strings.h"
#include "compile/compile.h"
#include "compile/parted_program.h"
#include "step/plan/step_cost.h"
#include "step/program_plan.h"

namespace tenon {
namespace {

class Naming {
 public:
  Naming(const Graph& graph, const ProgramDescription& description)
      : graph_(graph), description_(description), numbers_(image_nodes(graph)), costs_(graph) {}

  StepPlan plan() const {
    StepPlan out;
    out.nodes = static_cast<int>(numbers_.size());
    std::vector<bool> done(numbers_.size(), false);
    for (const ProgramStep& step : description_.steps) {
      out.steps.push_back(named(step));
      for (const uint32_t node : step.nodes) done[node] = true;
    }
    for (uint32_t i = 0; i < done.size(); ++i)
      if (!done[i]) out.idle.push_back({node(i).name, node(i).op});
    for (const ProgramBuffer& buffer : description_.buffers) out.buffers.push_back(named(buffer));
    for (const ProgramValue& value : description_.values) out.buffers[value.buffer].values.push_back(named(value));
    find_shared(out.buffers);
    return out;
  }

 private:
  const Node& node(uint32_t number) const { return graph_.nodes[static_cast<size_t>(numbers_[number])]; }

  PlannedStep named(const ProgramStep& step) const {
    PlannedStep out;
    out.name = step.node < 0 ? "copy" : node(static_cast<uint32_t>(step.node)).name;
    out.op = step.op;
    out.algorithm = step.algorithm;
    for (const uint32_t number : step.nodes) out.nodes.push_back({node(number).name, node(number).op});
    out.unit = static_cast<int>(step.unit);
    out.scratch_bytes = step.scratch_bytes;
    const NodeCost cost = costs_.of(step.nodes);
    out.flops = cost.flops;
    out.bytes_accessed = cost.bytes;
    return out;
  }

  PlannedBuffer named(const ProgramBuffer& buffer) const {
    constexpr const char* kNames[] = {"workspace", "input", "result", "constant"};
    PlannedBuffer out;
    out.memory = kNames[static_cast<size_t>(buffer.memory)];
    const auto index = static_cast<size_t>(buffer.index);
    if (buffer.index >= 0 && buffer.memory == ProgramBuffer::Memory::kResult)
      out.name = index < graph_.results.size() ? graph_.results[index].name : "";
    else if (buffer.index >= 0 && index < graph_.inputs.size())
      out.name = graph_.inputs[index].name;
    out.first = static_cast<int>(buffer.first);
    out.last = static_cast<int>(buffer.last);
    out.bytes = buffer.bytes;
    out.offset = buffer.offset;
    return out;
  }

  PlannedValue named(const ProgramValue& value) const {
    PlannedValue out;
    const Node& made = node(value.node);
    out.name = made.name;
    if (value.result >= 0 && static_cast<size_t>(value.result) < made.results.size()) {
      if (made.results.size() > 1) append(out.name, cat(":", value.result));
      out.type = graph_.type_text(made.results[static_cast<size_t>(value.result)]);
    }
    out.bytes = value.bytes;
    out.offset = value.offset;
    out.unit = static_cast<int>(value.unit);
    return out;
  }

  static bool overlap(const PlannedBuffer& a, const PlannedBuffer& b) {
    return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
  }
  static void find_shared(std::vector<PlannedBuffer>& buffers) {
    for (PlannedBuffer& later : buffers)
      for (size_t i = 0; i < buffers.size(); ++i)
        if (later.memory == "workspace" && buffers[i].memory == "workspace" && buffers[i].last < later.first &&
            overlap(later, buffers[i]))
          later.after.push_back(static_cast<int>(i));
  }

  const Graph& graph_;
  const ProgramDescription& description_;
  std::vector<NodeId> numbers_;  // of nodes, as the device numbers them
  StepCosts costs_;
};

Result<StepPlan> plan_of(const Executable& program) {
  TENON_ASSIGN(const ProgramDescription description,
               describe(*program.device, program.program, static_cast<uint32_t>(image_nodes(program.graph).size())));
  return Naming(program.graph, description).plan();
}

// What processes do together has a step for each node.
StepPlan plan_of_exchange(const Graph& graph) {
  StepPlan out;
  out.nodes = static_cast<int>(graph.nodes.size());
  for (const Node& node : graph.nodes)
    out.steps.push_back({.name = node.name, .op = node.op, .algorithm = "exchange", .nodes = {{node.name, node.op}}});
  return out;
}

// The part runs behind what `all` has.
void append_plan(StepPlan& all, StepPlan part) {
  const int steps = static_cast<int>(all.steps.size()), buffers = static_cast<int>(all.buffers.size());
  for (PlannedBuffer& buffer : part.buffers) {
    buffer.first += steps;
    buffer.last += steps;
    for (int& before : buffer.after) before += buffers;
  }
  const auto add = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  all.nodes += part.nodes;
  add(all.steps, part.steps);
  add(all.idle, part.idle);
  add(all.buffers, part.buffers);
}

Result<StepPlan> plan_of_parts(const PartedProgram& program) {
  StepPlan all;
  for (const PlacedPart& part : program.parts) {
    Result<StepPlan> one =
        part.kind == PartKind::kExchange ? plan_of_exchange(part.program.graph) : plan_of(part.program);
    TENON_TRY(one.status());
    append_plan(all, one.take());
  }
  return all;
}

}  // namespace

Result<StepPlan> step_plan(const Graph& graph, const std::shared_ptr<Device>& device, const ProgramOptions& options) {
  const bool predicts = offers_forecast(*device);
  ProgramOptions asked = options;
  asked.forecast_only = predicts;
  TENON_ASSIGN(const Executable executable, compile(graph, device, asked));
  TENON_ASSIGN(StepPlan out, executable.parted ? plan_of_parts(*executable.parted) : plan_of(executable));
  out.device = device->name();
  out.memory = planned_memory(executable);
  return out;
}

}  // namespace tenon
