// The kernels and the memory of a forecast as `describe` gives them.
#include <algorithm>

#include "handles.h"

namespace tpu {
namespace {

using tenon::plugin::GraphView;
using tenon::plugin::NodeView;

void list_steps(PlanRows& to, const GraphView& graph, const Forecast& forecast) {
  std::vector<bool> placed(graph.n_nodes());
  for (const Kernel& k : forecast.kernels) {
    tenon_plan_step step{};
    step.op = to.texts.insert(std::string(graph.node(k.root).op())).first->c_str();
    step.algorithm = k.nodes.size() > 1 ? k.category : nullptr;  // of a fusion its kind
    step.node = k.root;
    step.nodes.first = static_cast<uint32_t>(to.nodes.size());
    for (const uint32_t node : k.nodes) {
      if (placed[node]) continue;  // of several kernels, the first
      placed[node] = true;
      to.nodes.push_back(node);
    }
    step.nodes.count = static_cast<uint32_t>(to.nodes.size()) - step.nodes.first;
    if (step.nodes.count == 0) step.algorithm = "the rest of its exchange";  // of a collective that is several kernels
    to.steps.push_back(step);
  }
}

// A value over the one that was there before it is in that one's buffer.
uint32_t buffer_for(PlanRows& to, const tenon_plan_buffer& found) {
  for (uint32_t i = 0; i < to.buffers.size(); ++i) {
    tenon_plan_buffer& b = to.buffers[i];
    if (b.offset != found.offset || b.bytes != found.bytes || b.last < found.first || found.last < b.first) continue;
    b.first = std::min(b.first, found.first);
    b.last = std::max(b.last, found.last);
    return i;
  }
  to.buffers.push_back(found);
  return static_cast<uint32_t>(to.buffers.size() - 1);
}

std::vector<Allocation> by_time(const MemoryPlan& memory) {
  std::vector<Allocation> out;
  for (const Allocation& a : memory.allocations)
    if (a.node != TENON_NONE) out.push_back(a);
  std::stable_sort(out.begin(), out.end(), [](const Allocation& a, const Allocation& b) { return a.first < b.first; });
  return out;
}

// Which node makes a value, as which of its results.
std::vector<std::pair<uint32_t, uint32_t>> makers_of(const GraphView& graph) {
  std::vector<std::pair<uint32_t, uint32_t>> out(graph.n_values(), {TENON_NONE, TENON_NONE});
  for (uint32_t i = 0; i < graph.n_nodes(); ++i)
    for (int k = 0; k < graph.node(i).results(); ++k)
      if (graph.node(i).has_result(k)) out[graph.node(i).result_id(k)] = {i, static_cast<uint32_t>(k)};
  return out;
}

void list_memory(PlanRows& to, const GraphView& graph, const Forecast& forecast) {
  const std::vector<std::pair<uint32_t, uint32_t>> makers = makers_of(graph);
  const uint32_t last = static_cast<uint32_t>(std::max<size_t>(forecast.kernels.size(), 1) - 1);
  for (const Allocation& a : by_time(forecast.memory)) {
    const auto [node, result] = makers[a.value];
    const uint32_t buffer =
        buffer_for(to, {TENON_PLAN_WORKSPACE, TENON_NONE, std::min(a.first, last), std::min(a.last, last),
                        a.layout.bytes, a.offset - forecast.memory.argument_bytes});
    to.values.push_back({node == TENON_NONE ? a.node : node, result, 0, buffer, a.layout.bytes, 0});
  }
  for (uint32_t i = 0; i < graph.n_results(); ++i) {
    const tenon_result& r = graph.result(i);
    if (!r.alias || makers[r.value].first == TENON_NONE) continue;
    const uint64_t bytes = forecast.layouts[r.value].bytes;
    to.buffers.push_back({TENON_PLAN_INPUT, r.alias - 1, 0, last, bytes, 0});
    to.values.push_back(
        {makers[r.value].first, makers[r.value].second, 0, static_cast<uint32_t>(to.buffers.size() - 1), bytes, 0});
  }
}

}  // namespace

void list_plan(PlanRows& to, const GraphView& graph, const Forecast& forecast) {
  list_steps(to, graph, forecast);
  list_memory(to, graph, forecast);
}

tenon_status describe(const tenon_program* program, tenon_plan* out) {
  return entry([&] {
    tenon::plugin::check_flags(out->flags, 0, "describe");
    const PlanRows& rows = as(program)->plan;
    tenon_plan plan{};
    plan.steps = rows.steps.data();
    plan.step_stride = sizeof(tenon_plan_step);
    plan.buffers = rows.buffers.data();
    plan.buffer_stride = sizeof(tenon_plan_buffer);
    plan.values = rows.values.data();
    plan.value_stride = sizeof(tenon_plan_value);
    plan.nodes = rows.nodes.data();
    plan.n_steps = static_cast<uint32_t>(rows.steps.size());
    plan.n_buffers = static_cast<uint32_t>(rows.buffers.size());
    plan.n_values = static_cast<uint32_t>(rows.values.size());
    plan.n_nodes = static_cast<uint32_t>(rows.nodes.size());
    tenon::plugin::give(plan, out);
  });
}

}  // namespace tpu
