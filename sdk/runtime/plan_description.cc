#include "runtime/plan_description.h"

#include <algorithm>
#include <map>

namespace tenon::plugin {

class PlanDescription::Maker {
 public:
  Maker(PlanDescription& to, const PreparedGraph& graph, const Plan& plan)
      : to_(to), graph_(graph), plan_(plan), layout_(plan.memory) {}

  void make() {
    add_steps();
    add_blocks();
    add_thread_scratch();
    add_values();
    add_allocations();
  }

 private:
  const char* text(std::string text) {
    return text.empty() ? nullptr : to_.texts_.insert(std::move(text)).first->c_str();
  }

  void add_steps() {
    const std::vector<PreparedGraph::Origins> done = graph_.done_nodes(plan_.steps);
    for (const Step& step : plan_.steps) {
      const bool copies = step.node == TENON_NONE;
      tenon_plan_step out{};
      out.op = text(copies ? "copy" : std::string(graph_.view().node(step.node).op()));
      out.algorithm = text(step.kernel.algorithm);
      out.node = copies ? TENON_NONE : graph_.origins()[step.node].node;
      out.unit = copies ? 0 : graph_.origins()[step.node].unit;
      out.nodes.first = static_cast<uint32_t>(to_.nodes_.size());
      if (!copies)
        for (const UnrolledGraph::Origin& origin : done[step.node]) to_.nodes_.push_back(origin.node);
      out.nodes.count = static_cast<uint32_t>(to_.nodes_.size()) - out.nodes.first;
      const uint64_t threads = std::min(step.kernel.threads, plan_.threads);
      out.scratch_bytes = step.kernel.scratch_bytes + step.kernel.thread_scratch_bytes * threads;
      to_.steps_.push_back(out);
    }
  }

  // The first step from a node on: nodes that move nothing are no steps, and the graph's end stands for what follows the last.
  uint32_t first_step(uint32_t node) const {
    const auto at = std::find_if(plan_.steps.begin(), plan_.steps.end(), [&](const Step& s) { return s.node >= node; });
    return std::min(static_cast<uint32_t>(at - plan_.steps.begin()), last_step());
  }
  uint32_t last_step(uint32_t node) const {
    if (node >= graph_.view().n_nodes()) return last_step();
    const auto after =
        std::find_if(plan_.steps.begin(), plan_.steps.end(), [&](const Step& s) { return s.node > node; });
    return static_cast<uint32_t>(std::max<ptrdiff_t>(after - plan_.steps.begin() - 1, 0));
  }
  uint32_t last_step() const { return static_cast<uint32_t>(std::max<size_t>(plan_.steps.size(), 1) - 1); }

  uint32_t add_buffer(tenon_plan_memory memory, uint32_t index, uint64_t bytes) {
    to_.buffers_.push_back({memory, index, 0, last_step(), bytes, 0});
    return static_cast<uint32_t>(to_.buffers_.size() - 1);
  }

  void add_blocks() {
    for (size_t i = 0; i < layout_.blocks.size(); ++i) {
      const Block& block = layout_.blocks[i];
      tenon_plan_buffer& buffer = to_.buffers_[add_buffer(TENON_PLAN_WORKSPACE, layout_.scalars[i], block.bytes)];
      buffer.offset = block.offset;
      buffer.first = first_step(block.first);
      buffer.last = std::max(buffer.first, last_step(block.last));
    }
  }

  void add_thread_scratch() {
    if (plan_.thread_scratch_bytes == 0) return;
    const uint32_t i = add_buffer(TENON_PLAN_WORKSPACE, TENON_NONE, plan_.thread_scratch_bytes * plan_.threads);
    to_.buffers_[i].offset = plan_.thread_scratch;
  }

  // The inputs that are no scalars, by their number among these.
  uint32_t input_of(int32_t buffer) const {
    const GraphView& view = graph_.view();
    for (uint32_t i = 0;; ++i)
      if (view.input(i).role != TENON_ROLE_SCALAR && buffer-- == 0) return i;
  }

  uint32_t buffer_of(const MemoryLayout::Stored& stored, uint64_t bytes) {
    if (stored.block >= 0) return static_cast<uint32_t>(stored.block);
    if (stored.base == kBaseConstants) return add_buffer(TENON_PLAN_CONSTANT, TENON_NONE, stored.offset + bytes);
    const auto [at, fresh] = by_base_.try_emplace(stored.base, 0);
    if (!fresh) return at->second;
    const int32_t input = stored.base - kBaseFirstInput, result = input - plan_.n_buffers;
    at->second = result < 0
                     ? add_buffer(TENON_PLAN_INPUT, input_of(input), plan_.input_bytes[static_cast<size_t>(input)])
                     : add_buffer(TENON_PLAN_RESULT, static_cast<uint32_t>(result),
                                  plan_.result_bytes[static_cast<size_t>(result)]);
    return at->second;
  }

  void add_values() {
    const std::vector<PreparedGraph::NodeResult> whose = graph_.node_results();
    for (uint32_t i = 0; i < graph_.view().n_nodes(); ++i) {
      const NodeView node = graph_.view().node(i);
      for (int k = 0; k < node.results(); ++k) {
        if (!node.has_result(k)) continue;
        const MemoryLayout::Stored& stored = layout_.values[node.result_id(k)];
        if (stored.block < 0 && stored.base < 0) continue;
        PreparedGraph::NodeResult result = whose[node.result_id(k)];
        if (result.node.node == TENON_NONE) result.node = graph_.origins()[i];
        const auto bytes = static_cast<uint64_t>(node.out(k).bytes());
        to_.values_.push_back(
            {result.node.node, result.result, result.node.unit, buffer_of(stored, bytes), bytes, stored.offset});
      }
    }
  }

  void add_allocations() {
    const PreparedGraph::Origins& origins = graph_.origins();
    // What is alive to the end is so after the last node.
    const auto given = [&](uint32_t node) { return origins[std::min<size_t>(node, origins.size() - 1)].node; };
    for (size_t i = 0; i < layout_.blocks.size(); ++i) {
      if (layout_.makers[i] == TENON_NONE) continue;
      const Block& block = layout_.blocks[i];
      const auto [first, last] = std::minmax({given(block.first), given(block.last)});
      to_.allocations_.push_back({given(layout_.makers[i]), 0, block.bytes, block.bytes, block.offset, first, last});
    }
  }

  PlanDescription& to_;
  const PreparedGraph& graph_;
  const Plan& plan_;
  const MemoryLayout& layout_;
  std::map<int32_t, uint32_t> by_base_;  // buffers of inputs and results
};

PlanDescription::PlanDescription(const PreparedGraph& graph, const Plan& plan) { Maker(*this, graph, plan).make(); }

void PlanDescription::give(tenon_plan* out) const {
  const auto count = [](const auto& list) { return static_cast<uint32_t>(list.size()); };
  tenon_plan full{};
  full.steps = steps_.data();
  full.step_stride = sizeof(tenon_plan_step);
  full.buffers = buffers_.data();
  full.buffer_stride = sizeof(tenon_plan_buffer);
  full.values = values_.data();
  full.value_stride = sizeof(tenon_plan_value);
  full.nodes = nodes_.data();
  full.n_steps = count(steps_);
  full.n_buffers = count(buffers_);
  full.n_values = count(values_);
  full.n_nodes = count(nodes_);
  plugin::give(full, out);
}

}  // namespace tenon::plugin
