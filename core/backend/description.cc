#include "backend/description.h"

#include "backend/abi.h"
#include "base/strings.h"

namespace tenon {
namespace {

int64_t number_or_none(uint32_t number) { return number == TENON_NONE ? -1 : int64_t{number}; }

ProgramStep step_of(const tenon_plan_step& s, const tenon_plan& plan) {
  ProgramStep out;
  out.op = one_line(printable(s.op));
  out.algorithm = one_line(printable(s.algorithm));
  out.node = number_or_none(s.node);
  out.unit = s.unit;
  if (uint64_t{s.nodes.first} + s.nodes.count <= plan.n_nodes && plan.nodes)
    out.nodes.assign(plan.nodes + s.nodes.first, plan.nodes + s.nodes.first + s.nodes.count);
  out.scratch_bytes = s.scratch_bytes;
  return out;
}

ProgramBuffer buffer_of(const tenon_plan_buffer& b) {
  const bool known = b.memory >= TENON_PLAN_WORKSPACE && b.memory <= TENON_PLAN_CONSTANT;
  return {known ? static_cast<ProgramBuffer::Memory>(b.memory) : ProgramBuffer::Memory::kWorkspace,
          number_or_none(b.index),
          b.first,
          b.last,
          b.bytes,
          b.offset};
}

ProgramValue value_of(const tenon_plan_value& v) {
  return {v.node, v.unit, v.buffer, number_or_none(v.result), v.bytes, v.offset};
}

// What is out of range; empty where nothing is.
std::string fault_of(const ProgramDescription& d, uint32_t nodes) {
  for (const ProgramStep& step : d.steps) {
    if (step.node >= int64_t{nodes}) return cat("a step of node ", step.node);
    for (const uint32_t node : step.nodes)
      if (node >= nodes) return cat("a step that does node ", node);
  }
  for (const ProgramBuffer& buffer : d.buffers)
    if (buffer.first > buffer.last || (buffer.last && buffer.last >= d.steps.size()))
      return cat("a buffer that is alive from step ", buffer.first, " to ", buffer.last);
  for (const ProgramValue& value : d.values)
    if (value.node >= nodes || value.buffer >= d.buffers.size())
      return cat("a value of node ", value.node, " in buffer ", value.buffer);
  return {};
}

}  // namespace

Result<ProgramDescription> describe(const Device& device, const Program& program, uint32_t nodes) {
  const tenon_backend& backend = device.backend();
  if (!backend.describe)
    return Status(Code::kUnsupported, cat(device.name(), ": the backend does not say how it plans a program"));
  tenon_plan plan{};
  plan.struct_size = sizeof plan;
  TENON_TRY(call_entry(device.name(), "describe", [&] { return backend.describe(program.handle(), &plan); }));
  if (!is_readable(plan.flags))
    return Status(Code::kUnsupported, cat(device.name(), ": describe gave flags ", plan.flags, " that are not known"));
  ProgramDescription out;
  out.steps = rows_of(plan.steps, plan.n_steps, plan.step_stride,
                      [&](const tenon_plan_step& step) { return step_of(step, plan); });
  out.buffers = rows_of(plan.buffers, plan.n_buffers, plan.buffer_stride, buffer_of);
  out.values = rows_of(plan.values, plan.n_values, plan.value_stride, value_of);
  if (const std::string fault = fault_of(out, nodes); !fault.empty())
    return Status(Code::kInternal,
                  cat(device.name(), ": the backend broke the ABI: describe gave ", fault, ", of ", out.steps.size(),
                      " steps, ", out.buffers.size(), " buffers and ", nodes, " nodes"));
  return out;
}

}  // namespace tenon
