#include "runtime/barriers.h"

#include <algorithm>
#include <vector>

namespace tenon::plugin {
namespace {

constexpr uint64_t kWhole = UINT64_MAX / 2;  // of a copy: the worst is assumed

uint64_t size_of(const GraphView& graph, uint32_t v) { return static_cast<uint64_t>(graph.value(v).bytes()); }

struct Access {
  Place place;
  uint64_t bytes;
  bool write, serial;
};

bool conflict(const Access& a, const Access& b) {
  if (a.serial && b.serial) return false;  // same thread, in order
  if (!a.write && !b.write) return false;
  return a.place.base == b.place.base && a.place.offset < b.place.offset + b.bytes &&
         b.place.offset < a.place.offset + a.bytes;
}

std::vector<Access> accesses(const GraphView& graph, const Step& step) {
  std::vector<Access> out;
  const bool serial = step.kernel.threads <= 1;
  if (step.node == TENON_NONE) {
    out.push_back({step.operands[0], kWhole, false, serial});
    out.push_back({step.results[0], kWhole, true, serial});
    return out;
  }
  const NodeView node = graph.node(step.node);
  for (int k = 0; k < node.operands(); ++k)
    if (node.has(k)) out.push_back({step.operands[k], size_of(graph, node.operand_id(k)), false, serial});
  for (int k = 0; k < node.results(); ++k)
    if (node.has_result(k)) out.push_back({step.results[k], size_of(graph, node.result_id(k)), true, serial});
  if (step.kernel.scratch_bytes) out.push_back({step.scratch, step.kernel.scratch_bytes, true, serial});
  return out;
}

}  // namespace

// Threads meet before a step that touches what another thread may still be working on.
void add_barriers(const GraphView& graph, Plan& plan) {
  std::vector<Access> open;
  for (Step& step : plan.steps) {
    const std::vector<Access> now = accesses(graph, step);
    step.barrier = std::any_of(now.begin(), now.end(), [&](const Access& a) {
      return std::any_of(open.begin(), open.end(), [&](const Access& b) { return conflict(a, b); });
    });
    if (step.barrier) open.clear();
    open.insert(open.end(), now.begin(), now.end());
  }
}

}  // namespace tenon::plugin
