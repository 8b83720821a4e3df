#include "runtime/trace.h"

#include <chrono>

#include "tenon/op/table.h"
#include "tenon/plugin/cost.h"
#include "tenon/plugin/matcher.h"

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

// The arithmetic of a backend's own nodes with that of the nodes that it joined in them. Those are no origin of what is
// planned; each belongs to the first reader of what it makes that is an own node or belongs to one, or else to what made
// its operands.
class JoinedFlops {
 public:
  JoinedFlops(const GraphView& graph, const GraphView& known, const std::vector<UnrolledGraph::Origin>& origins)
      : planned_(known.n_nodes(), false), owner_(known.n_nodes(), TENON_NONE), flops_(known.n_nodes(), 0) {
    for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
      planned_[origins[i].node] = true;
      if (!op::find(graph.node(i).op())) owner_[origins[i].node] = origins[i].node;
    }
    const GraphIndex index(known);
    const auto each_reader = [&](uint32_t i, const auto& what) {
      for (int k = 0; k < known.node(i).results(); ++k)
        if (known.node(i).has_result(k))
          for (const uint32_t reader : index.readers(known.node(i).result_id(k)))
            if (reader != TENON_NONE) what(reader);
    };
    for (uint32_t i = known.n_nodes(); i-- > 0;) each_reader(i, [&](uint32_t reader) { give(i, reader); });
    for (uint32_t i = 0; i < known.n_nodes(); ++i) each_reader(i, [&](uint32_t reader) { give(reader, i); });
    for (uint32_t i = 0; i < known.n_nodes(); ++i)
      if (owner_[i] != TENON_NONE) flops_[owner_[i]] += cost_of(known.node(i)).flops;
  }
  uint64_t of(uint32_t node) const { return flops_[node]; }

 private:
  // Node i, where it is not planned itself and nobody's yet, to the owner of another.
  void give(uint32_t i, uint32_t other) {
    if (!planned_[i] && owner_[i] == TENON_NONE) owner_[i] = owner_[other];
  }

  std::vector<bool> planned_;    // these and those below: of the given graph
  std::vector<uint32_t> owner_;  // an own node's origin
  std::vector<uint64_t> flops_;
};

}  // namespace

StepEvents::StepEvents(const GraphView& graph, const Plan& plan, tenon_program* program, const GraphView& known,
                       const std::vector<UnrolledGraph::Origin>& origins) {
  const JoinedFlops joined(graph, known, origins);
  names_.reserve(plan.steps.size());  // events point into it
  for (const Step& step : plan.steps) {
    const bool copies = step.node == TENON_NONE;  // a result that could not be computed in its place
    names_.push_back(copies ? "copy" : std::string(known.node(origins[step.node].node).name()));
    first_.push_back(events_.size());
    tenon_event event{};
    event.program = program;
    event.name = names_.back().c_str();
    event.node = copies ? step.node : origins[step.node].node;
    event.unit = copies ? 0 : origins[step.node].unit;
    const bool own = !copies && !op::find(graph.node(step.node).op());
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
