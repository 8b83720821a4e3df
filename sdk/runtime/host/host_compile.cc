// What the entries that look at graphs do, for a backend in ordinary memory.
#include <algorithm>
#include <memory>

#include "runtime/compiling.h"
#include "runtime/host/host_handles.h"
#include "tenon/plugin/entry.h"
#include "tenon/plugin/graph_check.h"
#include "tenon/plugin/inline_program.h"
#include "tenon/plugin/replicas.h"

namespace tenon::plugin::host_entries {
namespace {

// What the host may ask for. What the collectives are made of is asked for where they are unrolled.
Verdict answer(const NodeView& node, const Device& device) {
  const KernelTable& table = device.backend->table;
  const Entry* entry = table.find(node.op(), node.version());
  if (entry && entry->own) return {TENON_DECOMPOSE, "no kernel for this op"};
  if (device.units == 1) return answer_of(node, table);
  if (!unrolls(node)) return {TENON_DECOMPOSE, "drawn, or averaged, over the units"};
  const std::string_view op = node.op();
  if (op == "all_reduce" || op == "reduce_scatter" || op == "all_gather" || op == "replica_id") return take();
  return answer_of(node, table);
}

Env make_env(const Device& device, const tenon_options& options) {
  Env env;
  env.host = &device.backend->host;
  const bool gang = env.host->gang && !device.backend->config->worker_queues;
  env.threads = gang ? std::max(env.host->threads, 1u) : 1;
  env.deterministic = (options.flags & TENON_OPTION_DETERMINISTIC) != 0;
  env.precision = options.precision;
  return env;
}

// Whether the graph means anything, and it and the options ask for nothing that no version known here defines.
void check_request(const tenon_graph* graph, const tenon_options& options, const char* entry) {
  check_flags(options.flags, TENON_OPTION_DETERMINISTIC | TENON_OPTION_TRACE, entry);
  check_graph(graph, entry);
  check_flags(graph->flags, 0, "the graph");
}

}  // namespace

tenon_status supports(tenon_device* device, const tenon_graph* graph, const tenon_options* options,
                      const uint32_t* nodes, uint32_t n, tenon_verdict* out, uint64_t stride) {
  return guarded([&] {
    check_request(graph, known(options), "supports");
    answer_nodes(*graph, nodes, n, out, stride, [&](const NodeView& node) { return answer(node, *as_device(device)); });
  });
}

tenon_status compile(tenon_device* handle, const tenon_graph* graph, const tenon_options* given, tenon_program** out,
                     tenon_info* info) {
  return guarded([&] {
    const tenon_options options = known(given);
    check_request(graph, options, "compile");
    Device& device = *as_device(handle);
    const Backend& backend = *device.backend;
    const Env env = make_env(device, options);
    const PreparedGraph prepared(*graph, backend.table, device.units, backend.config->rewrite, env);
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
    give_info(plan, prepared.cost(), program->description.allocations(), Memory::installed(), info);
    reserve_workspace(plan.arena_bytes, options.memory_limit, info,
                      [&](uint64_t bytes) { return device.arenas.reserve(bytes); });
    *out = reinterpret_cast<tenon_program*>(program.release());
  });
}

void program_destroy(tenon_program* program) { delete as_program(program); }

tenon_status describe(const tenon_program* program, tenon_plan* out) {
  reinterpret_cast<const Program*>(program)->description.give(out);
  return {TENON_OK, 0, nullptr};
}

}  // namespace tenon::plugin::host_entries
