// A group of one replica: what is gathered or added up is what is there.
#include "device/table.h"
#include "ops/movement.h"

namespace opencl_gpu {
namespace {

Verdict accept_copies(const NodeView& node) {
  const std::string op(node.op());
  if (node.operands() == 0 || node.operands() != node.results())
    return tenon::plugin::refuse(op + ": expected a result for each operand");
  for (int i = 0; i < node.operands(); ++i) {
    if (!node.has(i) || !node.has_result(i))
      return tenon::plugin::refuse(op + ": operand or result " + std::to_string(i) + " is absent");
    if (node.in(i).dtype() != node.out(i).dtype() || node.in(i).dims().vec() != node.out(i).dims().vec())
      return tenon::plugin::refuse(op + ": this backend runs one replica, the shapes tell of more");
  }
  return tenon::plugin::take();
}

Kernel copies(const NodeView& node, const Env&) {
  std::vector<uint64_t> bytes;
  Kernel kernel;
  for (int i = 0; i < node.operands(); ++i) {
    bytes.push_back(static_cast<uint64_t>(node.in(i).bytes()));
    kernel.in_place.push_back({i, i});
  }
  kernel.run = [bytes](const Call& call) {
    for (size_t i = 0; i < bytes.size(); ++i) copy_through(call, static_cast<int>(i), bytes[i]);
  };
  return kernel;
}

Kernel replica_id(const NodeView& node, const Env&) {
  Kernel kernel;
  kernel.run = [first = static_cast<int32_t>(node.i64("first"))](const Call& call) {
    call.stream->set(call.out_address(0), &first, sizeof first);
  };
  return kernel;
}

}  // namespace

void add_collectives(KernelTable& table) {
  const auto always = [](const NodeView&) { return tenon::plugin::take(); };
  table.add("replica_id", always, opencl_gpu::replica_id);
  for (const char* op : {"all_gather", "all_reduce", "reduce_scatter"}) table.add(op, accept_copies, copies);
}

}  // namespace opencl_gpu
