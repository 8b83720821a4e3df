#include "runtime/barriers.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "runtime/touched_bytes.h"

namespace tenon::plugin {
namespace {

constexpr uint64_t kWhole = UINT64_MAX / 2;  // of a copy: the worst is assumed

uint64_t size_of(const GraphView& graph, uint32_t v) { return static_cast<uint64_t>(graph.value(v).bytes()); }

struct Access {
  Place place;
  uint64_t bytes;
  bool write, serial;
};

// What steps have touched since the threads met.
class OpenAccesses {
 public:
  bool conflicts(const Access& a) const {
    for (const bool write : {false, true})
      for (const bool serial : {false, true}) {
        if (serial && a.serial) continue;  // same thread, in order
        if (!write && !a.write) continue;
        const auto found = touched_.find({a.place.base, write, serial});
        if (found != touched_.end() && found->second.overlap(a.place.offset, a.place.offset + a.bytes)) return true;
      }
    return false;
  }
  void add(const Access& a) {
    touched_[{a.place.base, a.write, a.serial}].add(a.place.offset, a.place.offset + a.bytes);
  }
  void clear() { touched_.clear(); }

 private:
  using How = std::tuple<decltype(Place::base), bool, bool>;  // base, write, serial
  std::map<How, TouchedBytes> touched_;
};

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
  OpenAccesses open;
  for (Step& step : plan.steps) {
    const std::vector<Access> now = accesses(graph, step);
    step.barrier = std::any_of(now.begin(), now.end(), [&](const Access& a) { return open.conflicts(a); });
    if (step.barrier) open.clear();
    for (const Access& a : now) open.add(a);
  }
}

}  // namespace tenon::plugin
