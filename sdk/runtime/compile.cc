// What the entries that look at graphs do.
#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/device/stream_executor.h"
#include "runtime/handles.h"
#include "runtime/host/gang_executor.h"
#include "runtime/prepared_graph.h"
#include "tenon/plugin/graph_check.h"

namespace tenon::plugin::entries {
namespace {

constexpr uint64_t kOptions = TENON_OPTION_DETERMINISTIC | TENON_OPTION_TRACE;

// No host may ask for these.
bool is_own(const NodeView& node, const Backend& backend) {
  const Entry* entry = backend.table.find(node.op(), node.version());
  return entry && entry->own;
}

// What the host may ask for. What the collectives are made of is asked for where they are unrolled.
Verdict answer(const NodeView& node, const Device& device) {
  const Backend& backend = device.backend;
  if (std::string refusal = replicas_refusal(node, device.units); !refusal.empty()) return refuse(std::move(refusal));
  if (backend.whole_graphs) return backend.whole_graphs->verdict_of(node);
  if (is_own(node, backend)) return {TENON_DECOMPOSE, "no kernel for this op"};
  if (device.units > 1) {
    if (!unrolls(node)) return {TENON_DECOMPOSE, "drawn, or averaged, over the units"};
    if (asks_replicas(node.op())) return take();
  }
  Verdict verdict = answer_of(node, backend.table);
  if (verdict.answer != TENON_TAKE) return verdict;
  if (std::string reason = device.driver->refusal(node); !reason.empty()) return refuse(std::move(reason));
  return verdict;
}

// Whether there are kernels, the planner finds: views need none.
void check_nodes(const GraphView& graph, const Device& device) {
  for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
    const NodeView node = graph.node(i);
    const Verdict verdict = answer(node, device);
    if (verdict.answer == TENON_REFUSE || is_own(node, device.backend))
      throw NoKernel(std::string(node.op()) + " '" + std::string(node.name()) + "': " + verdict.reason);
  }
}

Env make_env(const Device& device, const tenon_options& options) {
  Env env;
  env.host = &device.backend.host;
  if (device.execution == Execution::kInline && env.host->gang) env.threads = std::max(env.host->threads, 1u);
  env.deterministic = (options.flags & TENON_OPTION_DETERMINISTIC) != 0;
  if (!device.on_host()) env.device = device.driver.get();
  return env;
}

std::unique_ptr<Executor> make_executor(Device& device, Plan plan) {
  if (device.on_host()) return std::make_unique<GangExecutor>(std::move(plan), device.backend.host, device.workspaces);
  return std::make_unique<StreamExecutor>(std::move(plan), device);
}

// What compile makes of a graph, and what it says of that.
struct Compiled {
  std::unique_ptr<Program> program = std::make_unique<Program>();
  Cost cost;
  uint64_t code_bytes = 0;
};

Compiled plan_nodes(Device& device, const tenon_graph& graph, const tenon_options& options) {
  Compiled out;
  const Backend& backend = device.backend;
  const Env env = make_env(device, options);
  const PreparedGraph prepared(graph, backend.table, {device.units, backend.unites_units}, backend.rewrite, env);
  Plan made = make_plan(prepared.view(), backend.table, env);
  out.program->description = PlanDescription(prepared, made);
  made.memory = {};
  std::unique_ptr<StepEvents> events;
  if (options.flags & TENON_OPTION_TRACE)
    events = std::make_unique<StepEvents>(prepared, made, reinterpret_cast<tenon_program*>(out.program.get()));
  for (Step& step : made.steps)
    if (step.node != TENON_NONE) step.node = prepared.origins()[step.node].node;  // as the host knows it
  out.code_bytes = made.constants.size();
  out.program->executor = make_executor(device, std::move(made));
  if (events) out.program->executor->trace(device.tracer, std::move(events));
  out.cost = prepared.cost();
  return out;
}

// A plan of one step: all of the graph.
Compiled plan_whole(Device& device, const GraphView& graph, const tenon_options& options) {
  Compiled out;
  const std::shared_ptr<const InlineProgram> made =
      device.backend.whole_graphs->compile(graph, options, device.backend.host);
  Plan plan = interface_of(graph);
  const uint64_t scalars = (made->workspace_bytes + 63) / 64 * 64;  // behind the program's own workspace
  for (uint32_t i = 0; i < graph.n_inputs(); ++i)
    if (graph.input(i).role == TENON_ROLE_SCALAR)
      plan.scalars.push_back(
          {{kBaseArena, scalars + plan.scalars.size() * 8}, graph.value(graph.input(i).value).dtype()});
  plan.arena_parts = {scalars + plan.scalars.size() * 8};
  Step step;
  step.kernel.run = [made, scalars, n = plan.n_buffers](const Call& call) {
    uint8_t* const* in = call.bases_ + kBaseFirstInput;
    uint8_t* arena = call.bases_[kBaseArena];
    made->step(in, in + n, reinterpret_cast<const uint64_t*>(arena + scalars), arena);
  };
  plan.steps.push_back(std::move(step));
  out.program->executor = make_executor(device, std::move(plan));
  out.cost = cost_of(graph);
  out.code_bytes = made->code_bytes;
  return out;
}

tenon_info info_of(const Compiled& compiled, const Device& device) {
  const Plan& plan = compiled.program->executor->plan();
  const std::vector<tenon_allocation>& allocations = compiled.program->description.allocations();
  tenon_info info{};
  info.argument_bytes = plan.argument_bytes;
  info.result_bytes = plan.results_bytes(compiled.program->max_iterations);
  info.workspace_bytes = plan.arena_bytes();
  info.code_bytes = compiled.code_bytes;
  info.peak_bytes = info.argument_bytes + info.result_bytes + info.workspace_bytes + info.code_bytes;
  info.capacity_bytes = device.driver->memory_bytes();
  info.flops = compiled.cost.flops;
  info.bytes_moved = compiled.cost.bytes;
  info.allocations = allocations.data();
  info.allocation_stride = sizeof(tenon_allocation);
  info.n_allocations = static_cast<uint32_t>(allocations.size());
  return info;
}

void reserve_workspace(Device& device, const Plan& plan) {
  const std::lock_guard lock(device.enqueuing);
  device.workspaces.reserve(plan.arena_parts);
}

}  // namespace

tenon_status supports(tenon_device* handle, const tenon_graph* graph, const tenon_options* options,
                      const uint32_t* nodes, uint32_t n, tenon_verdict* out, uint64_t stride) {
  const Device& device = as_device(handle);
  return on_device(as_device(handle), [&] {
    checked_request(graph, options, kOptions, "supports");
    static thread_local std::vector<std::string> reasons;  // live until this thread's next call
    reasons.assign(n, {});
    const GraphView view(*graph);
    for (uint32_t i = 0; i < n; ++i) {
      const Verdict verdict = answer(view.node(nodes[i]), device);
      reasons[i] = verdict.reason;
      const tenon_verdict v{verdict.answer, 0, reasons[i].empty() ? nullptr : reasons[i].c_str()};
      std::memcpy(reinterpret_cast<uint8_t*>(out) + i * stride, &v, std::min<uint64_t>(stride, sizeof v));
    }
  });
}

tenon_status compile(tenon_device* handle, const tenon_graph* graph, const tenon_options* given, tenon_program** out,
                     tenon_info* info) {
  Device& device = as_device(handle);
  return on_device(device, [&] {
    const tenon_options options = checked_request(graph, given, kOptions, "compile");
    if (info) check_flags(info->flags, 0, "compile: the info");
    const GraphView view(*graph);
    check_nodes(view, device);
    Compiled made =
        device.backend.whole_graphs ? plan_whole(device, view, options) : plan_nodes(device, *graph, options);
    made.program->max_iterations = std::max(options.max_iterations, 1u);
    if (info) give(info_of(made, device), info);
    try {
      reserve_workspace(device, made.program->executor->plan());
    } catch (const Error&) {  // the program's allocations go with it
      if (info && TENON_HAS(info, tenon_info, n_allocations)) info->allocations = nullptr, info->n_allocations = 0;
      throw;
    }
    device.driver->compiled();
    *out = reinterpret_cast<tenon_program*>(made.program.release());
  });
}

void program_destroy(tenon_program* program) { delete as_program(program); }

tenon_status describe(const tenon_program* program, tenon_plan* out) {
  return guarded([&] {
    check_flags(out->flags, 0, "describe");
    reinterpret_cast<const Program*>(program)->description.give(out);
  });
}

}  // namespace tenon::plugin::entries
