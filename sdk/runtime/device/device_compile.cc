// What the entries that look at graphs do, for a device with memory of its own.
#include <algorithm>
#include <memory>
#include <string>

#include "runtime/compiling.h"
#include "runtime/device/device_handles.h"
#include "tenon/plugin/graph_check.h"
#include "tenon/plugin/inline_program.h"

namespace tenon::plugin::device_entries {
namespace {

Verdict answer(const NodeView& node, const Device& device) {
  const Entry* entry = device.backend->table.find(node.op(), node.version());
  if (entry && entry->own) return {TENON_DECOMPOSE, "no kernel for this op"};
  Verdict verdict = answer_of(node, device.backend->table);
  if (verdict.answer != TENON_TAKE) return verdict;
  if (std::string reason = device.driver->refusal(node); !reason.empty()) return refuse(std::move(reason));
  return verdict;
}

void check_nodes(const GraphView& view, const Device& device) {
  for (uint32_t i = 0; i < view.n_nodes(); ++i) {
    const NodeView node = view.node(i);
    const Verdict verdict = answer(node, device);
    if (verdict.answer != TENON_TAKE)
      throw NoKernel(std::string(node.op()) + " '" + std::string(node.name()) + "': " + verdict.reason);
  }
}

Env make_env(const Device& device, const tenon_options& options) {
  Env env;
  env.host = &device.backend->host;
  env.deterministic = (options.flags & TENON_OPTION_DETERMINISTIC) != 0;
  env.precision = options.precision;
  env.device = device.driver.get();
  return env;
}

}  // namespace

tenon_status supports(tenon_device* handle, const tenon_graph* graph, const tenon_options* given, const uint32_t* nodes,
                      uint32_t n, tenon_verdict* out, uint64_t stride) {
  return on_device(*as_device(handle), [&] {
    const tenon_options options = known(given);
    check_flags(options.flags, TENON_OPTION_DETERMINISTIC | TENON_OPTION_TRACE, "supports");
    check_graph(graph, "supports");
    check_flags(graph->flags, 0, "supports: the graph");
    answer_nodes(*graph, nodes, n, out, stride, [&](const NodeView& node) { return answer(node, *as_device(handle)); });
  });
}

tenon_status compile(tenon_device* handle, const tenon_graph* graph, const tenon_options* given, tenon_program** out,
                     tenon_info* info) {
  return on_device(*as_device(handle), [&] {
    const tenon_options options = known(given);
    check_flags(options.flags, TENON_OPTION_DETERMINISTIC | TENON_OPTION_TRACE, "compile");
    check_graph(graph, "compile");
    check_flags(graph->flags, 0, "compile: the graph");
    Device& device = *as_device(handle);
    check_nodes(GraphView(*graph), device);
    const Backend& backend = *device.backend;
    const Env env = make_env(device, options);
    const PreparedGraph prepared(*graph, backend.table, 1, backend.config->rewrite, env);
    Plan made = make_plan(prepared.view(), backend.table, env);
    PlanDescription description(prepared, made);
    made.memory = {};
    auto program = std::make_unique<Program>(std::move(made), std::move(description), device);
    const Plan& plan = program->executor.plan();
    program->max_iterations = std::max(options.max_iterations, 1u);
    if (options.flags & TENON_OPTION_TRACE) {
      auto* traced = reinterpret_cast<tenon_program*>(program.get());
      program->executor.trace(device.tracer, std::make_unique<StepEvents>(prepared, plan, traced));
    }
    give_info(plan, prepared.cost(), program->description.allocations(), device.driver->memory_bytes(), info);
    reserve_workspace(plan.arena_bytes, options.memory_limit, info,
                      [&](uint64_t bytes) { return device.arena->reserve(bytes), true; });
    device.driver->compiled();
    *out = reinterpret_cast<tenon_program*>(program.release());
  });
}

void program_destroy(tenon_program* program) { delete as_program(program); }

tenon_status describe(const tenon_program* program, tenon_plan* out) {
  reinterpret_cast<const Program*>(program)->description.give(out);
  return {TENON_OK, 0, nullptr};
}

}  // namespace tenon::plugin::device_entries
