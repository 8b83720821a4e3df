#include "runtime/trace.h"

#include <chrono>

#include "tenon/op/table.h"
#include "tenon/plugin/cost.h"

namespace tenon::plugin {

void Tracer::set(const tenon_sink* sink) {
  const std::lock_guard lock(mutex_);
  if (sink && sink_) throw Error(TENON_INVALID, "trace: the device has a sink already");
  sink_ = sink;
  active_.store(sink != nullptr, std::memory_order_release);
}

void Tracer::emit(const std::vector<tenon_event>& events) const {
  const std::lock_guard lock(mutex_);
  if (sink_) sink_->emit(sink_->ctx, events.data(), static_cast<uint32_t>(events.size()), sizeof(tenon_event));
}

namespace {

uint64_t flops_of(const GraphView& graph, const PreparedGraph::Origins& nodes) {
  uint64_t flops = 0;
  for (const UnrolledGraph::Origin& origin : nodes) flops += cost_of(graph.node(origin.node)).flops;
  return flops;
}

}  // namespace

StepEvents::StepEvents(const PreparedGraph& graph, const Plan& plan, tenon_program* program) {
  const std::vector<PreparedGraph::Origins> done = graph.done_nodes(plan.steps);
  names_.reserve(plan.steps.size());  // events point into it
  for (const Step& step : plan.steps) {
    const bool copies = step.node == TENON_NONE;  // a result that could not be computed in its place
    const UnrolledGraph::Origin origin = copies ? UnrolledGraph::Origin{TENON_NONE, 0} : graph.origins()[step.node];
    names_.push_back(copies ? "copy" : std::string(graph.given().node(origin.node).name()));
    first_.push_back(events_.size());
    tenon_event event{};
    event.program = program;
    event.name = names_.back().c_str();
    event.node = origin.node;
    event.unit = origin.unit;
    const bool own = !copies && !op::find(graph.view().node(step.node).op());
    Cost cost = copies ? Cost{} : cost_of(graph.view().node(step.node));
    if (own) cost.flops = flops_of(graph.given(), done[step.node]);
    const uint32_t lanes = step.kernel.threads <= 1 ? 1 : plan.threads;
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      event.lane = lane;
      event.flops = lane == 0 ? cost.flops : 0;
      event.bytes = lane == 0 ? cost.bytes : 0;
      events_.push_back(event);
    }
  }
}

uint64_t now_ps() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) * 1000;
}

}  // namespace tenon::plugin
