// The collectives of a group of one replica: copies, where memory was not shared already.
#include <cstring>

#include "kernels/dtype.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

plugin::Verdict accept_replica_id(const NodeView& node) {
  return node.operands() == 0 && node.out(0).dtype() == TENON_I32 && node.out(0).rank() == 0
             ? plugin::take()
             : refusal(node, "expected no operands and an i32 scalar result");
}
Kernel make_replica_id(const NodeView& node, const Env&) {
  Kernel k;
  k.run = [first = static_cast<int32_t>(node.i64("first"))](const Call& call) { *call.out<int32_t>(0) = first; };
  return k;
}

// x[i] -> y[i] of the same type, as a group of one makes it.
plugin::Verdict accept_copies(const NodeView& node) {
  if (node.operands() != node.results() || node.operands() == 0)
    return refusal(node, "expected a result for each operand");
  for (int i = 0; i < node.operands(); ++i) {
    if (!node.has(i) || !node.has_result(i))
      return refusal(node, "operand or result " + std::to_string(i) + " is absent");
    if (node.in(i).dtype() != node.out(i).dtype() || !same_shape(node.in(i), node.out(i)))
      return refusal(node, "this backend runs one replica, the shapes tell of more");
  }
  return plugin::take();
}
Kernel make_copies(const NodeView& node, const Env&) {
  std::vector<int64_t> bytes;
  int64_t total = 0;
  Kernel k;
  for (int i = 0; i < node.operands(); ++i) {
    bytes.push_back(node.in(i).bytes());
    total += bytes.back();
    k.in_place.push_back({i, i});
  }
  k.threads = gang_for(total / 4);
  k.run = [bytes](const Call& call) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      const int at = static_cast<int>(i);
      if (call.in<uint8_t>(at) == call.out<uint8_t>(at)) continue;
      const Slice s = call.share(bytes[i], 4096);
      if (s.begin < s.end)
        std::memcpy(call.out<uint8_t>(at) + s.begin, call.in<uint8_t>(at) + s.begin,
                    static_cast<size_t>(s.end - s.begin));
    }
  };
  return k;
}

}  // namespace

void add_collective(KernelTable& table) {
  table.add("replica_id", accept_replica_id, make_replica_id);
  for (const char* op : {"all_gather", "all_reduce", "reduce_scatter"}) table.add(op, accept_copies, make_copies);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
