#include "runtime/plan/plan.h"

#include <numeric>

namespace tenon::plugin {

std::vector<int32_t> buffers_of(const GraphView& graph) {
  std::vector<int32_t> out;
  for (uint32_t i = 0, n = 0; i < graph.n_inputs(); ++i)
    out.push_back(graph.input(i).role == TENON_ROLE_SCALAR ? -1 : static_cast<int32_t>(n++));
  return out;
}

uint64_t Plan::arena_bytes() const { return std::accumulate(arena_parts.begin(), arena_parts.end(), uint64_t{0}); }

uint64_t Plan::results_bytes(uint64_t iterations) const {
  uint64_t sum = 0;
  for (size_t r = 0; r < result_bytes.size(); ++r)
    if (result_alias[r] < 0) sum += result_bytes[r] * (result_mode[r] == TENON_MODE_EACH ? iterations : 1);
  return sum;
}

int32_t Plan::part_base(size_t part) const {
  return part == 0 ? kBaseArena : kBaseFirstInput + n_buffers + n_results + static_cast<int32_t>(part) - 1;
}

Place Plan::arena_place(uint64_t offset) const {
  size_t part = 0;
  for (; part + 1 < arena_parts.size() && offset >= arena_parts[part]; ++part) offset -= arena_parts[part];
  return {part_base(part), offset};
}

Plan interface_of(const GraphView& graph) {
  Plan plan;
  for (uint32_t i = 0; i < graph.n_inputs(); ++i) {
    const tenon_input& input = graph.input(i);
    if (input.role == TENON_ROLE_SCALAR) continue;
    if (input.role == TENON_ROLE_FEED) plan.feeds.push_back(plan.n_buffers);
    plan.is_feed.push_back(input.role == TENON_ROLE_FEED);
    plan.input_bytes.push_back(static_cast<uint64_t>(graph.value(input.value).bytes()));
    plan.argument_bytes += plan.input_bytes.back();
    ++plan.n_buffers;
  }
  const std::vector<int32_t> buffers = buffers_of(graph);
  for (uint32_t i = 0; i < graph.n_results(); ++i) {
    const tenon_result& r = graph.result(i);
    plan.result_bytes.push_back(static_cast<uint64_t>(graph.value(r.value).bytes()));
    plan.result_mode.push_back(r.mode);
    plan.result_alias.push_back(r.alias ? buffers[r.alias - 1] : -1);
    if (r.mode == TENON_MODE_UNTIL) plan.until = static_cast<int32_t>(i);
  }
  plan.n_results = static_cast<int32_t>(graph.n_results());
  return plan;
}

}  // namespace tenon::plugin
