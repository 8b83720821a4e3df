#include "runtime/trace.h"

#include <chrono>

#include "tenon/plugin/cost.h"
#include "tenon/plugin/op_attributes.h"

namespace tenon::plugin {

void Tracer::set(const tenon_sink* sink) {
  const std::lock_guard lock(mutex_);
  sink_ = sink;
  active_.store(sink != nullptr, std::memory_order_release);
}

void Tracer::emit(const std::vector<tenon_event>& events) const {
  const std::lock_guard lock(mutex_);
  if (sink_) sink_->emit(sink_->ctx, events.data(), static_cast<uint32_t>(events.size()), sizeof(tenon_event));
}

StepEvents::StepEvents(const GraphView& graph, const Plan& plan, tenon_program* program, const GraphView& known,
                       const std::vector<UnrolledGraph::Origin>& origins) {
  names_.reserve(plan.steps.size());  // events point into it
  for (const Step& step : plan.steps) {
    const bool copies = step.node == TENON_NONE;  // a result that could not be computed in its place
    names_.push_back(copies ? "copy" : std::string(graph.node(step.node).name()));
    first_.push_back(events_.size());
    tenon_event event{};
    event.program = program;
    event.name = names_.back().c_str();
    event.node = copies ? step.node : origins[step.node].node;
    event.unit = copies ? 0 : origins[step.node].unit;
    const bool own = !copies && !is_published(graph.node(step.node).op());
    const Cost cost = copies ? Cost{} : cost_of(own ? known.node(event.node) : graph.node(step.node));
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
