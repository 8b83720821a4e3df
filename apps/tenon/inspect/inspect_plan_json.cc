// What a device decided for a step, as one JSON object.
#include "inspect/inspect.h"

namespace tenon::runner {
namespace {

std::string json_of(const PlannedStep::Node& node) { return Json().add("name", node.name).add("op", node.op).str(); }

std::string json_of(const PlannedStep& step) {
  return Json()
      .add("name", step.name)
      .add("op", step.op)
      .add("algorithm", step.algorithm)
      .add("unit", step.unit)
      .add("scratch_bytes", step.scratch_bytes)
      .raw("nodes", json_list_of(step.nodes, [](const PlannedStep::Node& node) { return json_of(node); }))
      .add("flops", step.flops)
      .add("bytes_accessed", step.bytes_accessed)
      .str();
}

std::string json_of(const PlannedValue& value) {
  return Json()
      .add("name", value.name)
      .add("type", value.type)
      .add("unit", value.unit)
      .add("bytes", value.bytes)
      .add("offset", value.offset)
      .str();
}

std::string json_of(const PlannedBuffer& buffer) {
  return Json()
      .add("memory", buffer.memory)
      .add("name", buffer.name)
      .add("first", buffer.first)
      .add("last", buffer.last)
      .add("bytes", buffer.bytes)
      .add("offset", buffer.offset)
      .raw("values", json_list_of(buffer.values, [](const PlannedValue& value) { return json_of(value); }))
      .raw("after", json_list_of(buffer.after, [](int i) { return std::to_string(i); }))
      .str();
}

std::string json_of(const PlanSummary& s) {
  const auto number = [](int i) { return std::to_string(i); };
  return Json()
      .add("units", s.units)
      .add("fused_steps", s.fused_steps)
      .add("fused_nodes", s.fused_nodes)
      .add("flops", s.flops)
      .add("bytes_accessed", s.bytes_accessed)
      .add("workspace_bytes", s.workspace_bytes)
      .add("buffers", s.buffers)
      .add("buffer_bytes", s.buffer_bytes)
      .add("peak_step", s.peak_step)
      .add("peak_bytes", s.peak_bytes)
      .raw("alive_at_peak", json_list_of(s.alive_at_peak, number))
      .raw("algorithms", json_list_of(s.algorithms,
                                      [](const PlanSummary::Algorithm& a) {
                                        return Json().add("name", a.name).add("steps", a.steps).str();
                                      }))
      .str();
}

}  // namespace

std::string plan_json(const StepPlan& plan, const PlanTitle& title) {
  return Json("result")
      .add("model", title.model)
      .add("mode", title.mode)
      .add("batch_size", title.batch)
      .add("device", plan.device)
      .add("nodes", plan.nodes)
      .add("argument_bytes", plan.memory.arguments)
      .add("result_bytes", plan.memory.results)
      .add("code_bytes", plan.memory.code)
      .add("workspace_bytes", plan.memory.workspace)
      .raw("steps", json_list_of(plan.steps, [](const PlannedStep& step) { return json_of(step); }))
      .raw("idle", json_list_of(plan.idle, [](const PlannedStep::Node& node) { return json_of(node); }))
      .raw("buffers", json_list_of(plan.buffers, [](const PlannedBuffer& buffer) { return json_of(buffer); }))
      .raw("summary", json_of(summary_of(plan)))
      .str();
}

}  // namespace tenon::runner
