// From a graph of one core to a program: refused by the rules, forecast, and handed on to the backend below, rounded and
// written out for all cores.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "forecast/advice.h"
#include "forecast/report.h"
#include "handles.h"
#include "rounding.h"
#include "rules.h"
#include "tenon/plugin/graph_check.h"
#include "tenon/plugin/replicas.h"
#include "tensorflow_names.h"

namespace tpu {
namespace {

using namespace tenon::plugin;

constexpr uint64_t kOptions = TENON_OPTION_DETERMINISTIC | TENON_OPTION_TRACE | TENON_OPTION_FORECAST;

// What the backend below is asked with.
tenon_options inner_options(const tenon_options& options) {
  tenon_options out = options;
  out.flags &= ~(TENON_OPTION_TRACE | TENON_OPTION_FORECAST);
  return out;
}

struct Answer {
  int32_t answer;
  std::string reason;
  bool asks_below = true;  // TAKE stands if the backend below takes the node too
};

// What the emulator itself says of a node; TAKE: the backend below is to be asked.
Answer own_answer(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of(node, device.machine.kernels); !refusal.empty())
    return {TENON_REFUSE, refusal};
  if (std::string refusal = replicas_refusal(node, device.units); !refusal.empty())
    return {TENON_REFUSE, std::move(refusal)};
  if (device.units > 1 && asks_replicas(node.op())) return {TENON_TAKE, "", false};
  const bool hides = device.spec.rounds && hides_dots(node);
  return {hides || (device.units > 1 && !unrolls(node)) ? TENON_DECOMPOSE : TENON_TAKE, ""};
}

// Texts of a call's refusals, which live until this thread's next call.
std::vector<std::string>& reasons() {
  static thread_local std::vector<std::string> texts;
  texts.clear();
  return texts;
}

// ---- what compile fills in ----

// What lives within a step, in the places of nodes in the order in which the kernels run. A node that several kernels have
// fused is at home in the first.
void list_allocations(Program& program, uint32_t nodes) {
  std::vector<uint32_t> places;  // of each kernel's first node
  std::vector<bool> placed(nodes);
  uint32_t place = 0;
  for (const Kernel& k : program.forecast.kernels) {
    places.push_back(std::min(place, nodes - 1));
    for (const uint32_t node : k.nodes)
      if (!placed[node]) placed[node] = true, ++place;
  }
  const uint64_t base = program.forecast.memory.argument_bytes;  // arguments lie below
  for (const Allocation& a : program.forecast.memory.allocations)
    if (a.node != TENON_NONE)
      program.allocations.push_back({a.node, 0, a.layout.bytes, a.layout.dense_bytes, a.offset - base,
                                     places[std::min<size_t>(a.first, places.size() - 1)],
                                     places[std::min<size_t>(a.last, places.size() - 1)]});
}

void list_arguments(Program& program, const GraphView& graph) {
  std::vector<uint32_t> input_of(graph.n_values(), TENON_NONE);
  for (uint32_t i = 0; i < graph.n_inputs(); ++i) input_of[graph.input(i).value] = i;
  for (const Allocation& a : program.forecast.memory.allocations)
    if (a.node == TENON_NONE && input_of[a.value] != TENON_NONE)
      program.arguments.push_back({input_of[a.value], 0, a.layout.bytes, a.layout.dense_bytes});
}

void list_paddings(Program& program, const GraphView& graph) {
  const auto list = [&](uint32_t value, uint32_t node, uint32_t index) {
    const ValueView view = graph.value(value);
    const std::vector<int64_t>& padded = program.forecast.layouts[value].padded;
    for (int axis = 0; axis < view.rank(); ++axis)
      if (const auto room = static_cast<uint64_t>(padded[static_cast<size_t>(axis)]),
          size = static_cast<uint64_t>(view.dim(axis));
          room != size)
        program.paddings.push_back({node, index, static_cast<uint32_t>(axis), 0, size, room});
  };
  for (uint32_t i = 0; i < graph.n_inputs(); ++i) list(graph.input(i).value, TENON_NONE, i);
  for (uint32_t n = 0; n < graph.n_nodes(); ++n) {
    const NodeView node = graph.node(n);
    for (int r = 0; r < node.results(); ++r)
      if (node.has_result(r)) list(node.result_id(r), n, static_cast<uint32_t>(r));
  }
}

void list_kernels(Program& program, const GraphView& graph) {
  const auto ps = [](double seconds) { return static_cast<uint64_t>(seconds * 1e12); };
  for (const Kernel& k : program.forecast.kernels) {
    program.kernels.push_back({k.root, static_cast<uint32_t>(k.nodes.size()), k.category, bound_name(k.bound),
                               ps(k.start_s), ps(k.seconds), k.flops, k.padded_flops, k.bytes, k.padded_bytes});
    program.names.emplace_back(graph.node(k.root).name());
  }
}

// The forecast is of one core; each has memory of its own.
tenon_info info_of(const Program& program) {
  const Forecast& f = program.forecast;
  const uint64_t cores = program.device->units;
  const auto ns = [](double seconds) { return static_cast<uint64_t>(seconds * 1e9); };
  tenon_info info{};
  info.argument_bytes = cores * f.memory.argument_bytes;
  info.result_bytes = cores * program.result_bytes;
  info.workspace_bytes = cores * f.memory.temp_bytes;
  info.code_bytes = cores * (f.memory.program_bytes - std::min(f.memory.program_bytes, f.memory.temp_bytes));
  info.reserved_bytes = cores * f.memory.reserved_bytes;
  info.peak_bytes = cores * f.memory.total_bytes;
  info.capacity_bytes = cores * f.memory.capacity_bytes;
  info.flops = cores * f.flops;
  for (const Kernel& k : f.kernels) info.bytes_moved += cores * k.padded_bytes;
  info.device_ns = ns(f.device_s);
  info.feed_ns = ns(f.infeed_s);
  info.host_ns = ns(f.host_s);
  info.allocations = program.allocations.data();
  info.allocation_stride = sizeof(tenon_allocation);
  info.n_allocations = static_cast<uint32_t>(program.allocations.size());
  return info;
}

// Fills the info of a program that does not come to be. Its allocations live until this thread's next failure.
void give_failed(Program& program, tenon_info* info) {
  if (!info) return;
  static thread_local std::vector<tenon_allocation> allocations;
  allocations.swap(program.allocations);
  tenon_info own = info_of(program);
  own.allocations = allocations.data();
  own.n_allocations = static_cast<uint32_t>(allocations.size());
  give(own, info);
}

void check_memory(Program& program, const GraphView& graph, tenon_info* info) {
  const MemoryPlan& memory = program.forecast.memory;
  if (memory.fits()) return;
  give_failed(program, info);
  throw Error(TENON_OUT_OF_MEMORY, out_of_memory_text(graph, memory));
}

// For which nodes of a graph that is being made the backend below has kernels.
std::vector<bool> inner_takes(const Device& device, const GraphView& graph, const tenon_options& options) {
  std::vector<uint32_t> nodes(graph.n_nodes());
  std::iota(nodes.begin(), nodes.end(), 0);
  std::vector<tenon_verdict> verdicts(nodes.size());
  check(device.inner->supports(device.handle, graph.flat(), &options, nodes.data(), graph.n_nodes(), verdicts.data(),
                               sizeof(tenon_verdict)));
  std::vector<bool> taken;
  for (const tenon_verdict& verdict : verdicts) taken.push_back(verdict.answer == TENON_TAKE);
  return taken;
}

void compile_inner(Program& program, const tenon_graph& graph, const tenon_options& options) {
  const Device& device = *program.device;
  GraphView view(graph);
  const Rewritten rounded = device.spec.rounds ? round_operands(view) : Rewritten{};
  const tenon_graph* current = rounded.graph.empty() ? &graph : rounded.graph.graph();
  const tenon_options inner = inner_options(options);
  UnrolledGraph unrolled;
  if (device.units > 1) {
    const auto takes = [&](const GraphView& made) { return inner_takes(device, made, inner); };
    unrolled = unroll_replicas(GraphView(*current), device.units, {true, takes});
    current = unrolled.graph.graph();
  }
  tenon_info info{};
  info.struct_size = sizeof info;
  check(device.inner->compile(device.handle, current, &inner, &program.handle, &info));
}

}  // namespace

tenon_status supports(tenon_device* handle, const tenon_graph* graph, const tenon_options* given, const uint32_t* nodes,
                      uint32_t n, tenon_verdict* out, uint64_t stride) {
  return entry([&] {
    const Device& device = *as(handle);
    const tenon_options options = checked_request(graph, given, kOptions, "supports");
    const tenon_options inner = inner_options(options);
    std::vector<tenon_verdict> verdicts(n);
    check(device.inner->supports(device.handle, graph, &inner, nodes, n, verdicts.data(), sizeof(tenon_verdict)));
    const GraphView view(*graph);
    std::vector<std::string>& texts = reasons();
    texts.reserve(n);
    for (uint32_t i = 0; i < n; ++i) {
      tenon_verdict& verdict = verdicts[i];
      const NodeView node = view.node(nodes[i]);
      const Answer answer = own_answer(node, device);
      if (answer.answer != TENON_TAKE || !answer.asks_below) {
        verdict.answer = answer.answer;
        texts.push_back(answer.reason);
        verdict.reason = answer.answer == TENON_REFUSE ? texts.back().c_str() : nullptr;
      }
      std::memcpy(reinterpret_cast<char*>(out) + i * stride, &verdict, std::min<uint64_t>(stride, sizeof verdict));
    }
  });
}

tenon_status compile(tenon_device* handle, const tenon_graph* graph, const tenon_options* given, tenon_program** out,
                     tenon_info* info) {
  return entry([&] {
    Device& device = *as(handle);
    const tenon_options options = checked_request(graph, given, kOptions, "compile");
    if (info) check_flags(info->flags, 0, "compile: the info");
    const GraphView view(*graph);
    for (uint32_t i = 0; i < view.n_nodes(); ++i)
      if (const Answer answer = own_answer(view.node(i), device); answer.answer == TENON_REFUSE)
        throw Error(TENON_UNSUPPORTED, answer.reason);
    auto program = std::make_unique<Program>();
    program->device = &device;
    program->number = ++device.programs;
    program->traced = (options.flags & TENON_OPTION_TRACE) != 0;
    for (uint32_t i = 0; i < view.n_inputs(); ++i) {
      program->n_feeds += view.input(i).role == TENON_ROLE_FEED;
      program->n_buffers += view.input(i).role != TENON_ROLE_SCALAR;
    }
    program->n_results = view.n_results();
    for (uint32_t i = 0; i < view.n_results(); ++i)
      if (!view.result(i).alias)
        program->result_bytes += row_major_layout(view.value(view.result(i).value)).bytes *
                                 (view.result(i).mode == TENON_MODE_EACH ? std::max(options.max_iterations, 1u) : 1);
    ForecastOptions how;
    how.iterations_per_loop = std::max(options.max_iterations, 1u);
    program->forecast = forecast(view, device.machine, how);
    list_allocations(*program, view.n_nodes());
    check_memory(*program, view, info);
    list_arguments(*program, view);
    list_kernels(*program, view);
    list_paddings(*program, view);
    list_plan(program->plan, view, program->forecast);
    program->advice = advice(device.machine, program->forecast);
    if (!(options.flags & TENON_OPTION_FORECAST)) compile_inner(*program, *graph, options);
    if (info) give(info_of(*program), info);
    *out = reinterpret_cast<tenon_program*>(program.release());
  });
}

void program_destroy(tenon_program* handle) {
  Program* program = as(handle);
  if (!program) return;
  if (program->handle) program->device->inner->program_destroy(program->handle);
  delete program;
}

}  // namespace tpu
