#include "runtime/trace.h"

#include <chrono>

#include "tenon/plugin/cost.h"
#include "tenon/plugin/fuser.h"
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

namespace {

// The arithmetic of nodes of the given graph with that of those that a backend joined with them: these are no origin of
// what is planned, and belong to the first reader of theirs that is one or belongs to one, or else to what they read.
class JoinedFlops {
 public:
  JoinedFlops(const GraphView& known, const std::vector<UnrolledGraph::Origin>& origins)
      : owner_(known.n_nodes(), TENON_NONE), flops_(known.n_nodes(), 0) {
    for (const UnrolledGraph::Origin& origin : origins) owner_[origin.node] = origin.node;
    const std::vector<std::vector<uint32_t>> readers = readers_of(known);
    for (uint32_t i = known.n_nodes(); i-- > 0;)
      for (int k = 0; k < known.node(i).results(); ++k)
        if (known.node(i).has_result(k)) give(i, readers[known.node(i).result_id(k)]);
    for (uint32_t i = 0; i < known.n_nodes(); ++i)
      if (owner_[i] != TENON_NONE)
        for (int k = 0; k < known.node(i).results(); ++k)
          if (known.node(i).has_result(k))
            for (const uint32_t reader : readers[known.node(i).result_id(k)])
              if (reader != TENON_NONE) give(reader, {i});
    for (uint32_t i = 0; i < known.n_nodes(); ++i)
      if (owner_[i] != TENON_NONE) flops_[owner_[i]] += cost_of(known.node(i)).flops;
  }
  uint64_t of(uint32_t node) const { return flops_[node]; }

 private:
  // Node i, where it has no owner yet, to that of the first of these that has one.
  void give(uint32_t i, const std::vector<uint32_t>& others) {
    for (const uint32_t other : others)
      if (owner_[i] == TENON_NONE && other != TENON_NONE) owner_[i] = owner_[other];
  }

  std::vector<uint32_t> owner_;  // in the given graph
  std::vector<uint64_t> flops_;
};

}  // namespace

StepEvents::StepEvents(const GraphView& graph, const Plan& plan, tenon_program* program, const GraphView& known,
                       const std::vector<UnrolledGraph::Origin>& origins) {
  const JoinedFlops joined(known, origins);
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
    Cost cost = copies ? Cost{} : cost_of(graph.node(step.node));
    if (own) cost.flops = joined.of(event.node);
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
