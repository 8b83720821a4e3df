// describe: what a backend says of its plans.
#include <algorithm>
#include <cstring>
#include <set>

#include "validation/layer.h"

namespace tenon::plugin::validation {
namespace {

// Element i of an array that may have a longer stride than this version's, or none.
template <class T>
T row(const T* rows, uint64_t stride, uint32_t i) {
  T out{};
  std::memcpy(&out, reinterpret_cast<const char*>(rows) + i * stride, std::min<uint64_t>(stride, sizeof out));
  return out;
}

void check_array(const void* rows, uint32_t n, uint64_t stride, uint64_t least, const char* what) {
  if (n && (!rows || stride < least)) backend_broke("lists ", n, " ", what, " with a stride of ", stride);
}

void check_steps(const tenon_plan& plan, uint32_t nodes) {
  std::set<std::pair<uint32_t, uint32_t>> done;  // unit, node
  for (uint32_t i = 0; i < plan.n_steps; ++i) {
    const tenon_plan_step step = row(plan.steps, plan.step_stride, i);
    if (!step.op || !*step.op) backend_broke("gave step ", i, " no op");
    if (step.node != TENON_NONE && step.node >= nodes)
      backend_broke("named step ", i, " after node ", step.node, " of ", nodes);
    if (uint64_t{step.nodes.first} + step.nodes.count > plan.n_nodes)
      backend_broke("gave step ", i, " nodes beyond the ", plan.n_nodes, " that it lists");
    for (uint32_t k = 0; k < step.nodes.count; ++k) {
      const uint32_t node = plan.nodes[step.nodes.first + k];
      if (node >= nodes) backend_broke("says that step ", i, " does node ", node, " of ", nodes);
      if (!done.insert({step.unit, node}).second) backend_broke("says that two steps do node ", node);
    }
  }
}

void check_buffers(const tenon_plan& plan, const Program& program) {
  for (uint32_t i = 0; i < plan.n_buffers; ++i) {
    const tenon_plan_buffer b = row(plan.buffers, plan.buffer_stride, i);
    if (b.first > b.last || b.last >= std::max(plan.n_steps, 1u))
      backend_broke("lists buffer ", i, ", alive from ", b.first, " to ", b.last, ", of ", plan.n_steps, " steps");
    if (b.memory < TENON_PLAN_WORKSPACE || b.memory > TENON_PLAN_CONSTANT)
      backend_broke("lists buffer ", i, " in memory ", b.memory, ", expected 0 to 3");
    const uint64_t n = b.memory == TENON_PLAN_RESULT ? program.signature.results.size() : program.inputs;
    const bool named = b.memory == TENON_PLAN_INPUT || b.memory == TENON_PLAN_RESULT;
    if (b.index >= n && (named || b.index != TENON_NONE))
      backend_broke("lists buffer ", i, " of input or result ", b.index, " of ", n);
  }
}

void check_values(const tenon_plan& plan, uint32_t nodes) {
  for (uint32_t i = 0; i < plan.n_values; ++i) {
    const tenon_plan_value v = row(plan.values, plan.value_stride, i);
    if (v.node >= nodes || v.buffer >= plan.n_buffers)
      backend_broke("lists value ", i, " of node ", v.node, " of ", nodes, " in buffer ", v.buffer, " of ",
                    plan.n_buffers);
    const uint64_t room = row(plan.buffers, plan.buffer_stride, v.buffer).bytes;
    if (v.bytes > room || v.offset > room - v.bytes)
      backend_broke("lists value ", i, ", ", v.bytes, " bytes at ", v.offset, " of a buffer of ", room);
  }
}

}  // namespace

tenon_status describe(Layer& layer, const tenon_program* handle, tenon_plan* out) {
  Call call(layer, "describe");
  const Program& program = call.program(const_cast<tenon_program*>(handle));
  TENON_VALIDATE_SIZE(out, tenon_plan, n_nodes);
  check_zeroed(&out->flags, TENON_SIZE(tenon_plan, n_nodes) - sizeof out->struct_size, "tenon_plan");
  const uint64_t room = out->struct_size;
  const tenon_status status = call.forward(
      program.device, [&] { return layer.inner.describe(static_cast<const tenon_program*>(program.inner), out); });
  if (out->struct_size > room) backend_broke("set struct_size ", out->struct_size, ", there was room for ", room);
  if (status.code) return status;
  check_array(out->steps, out->n_steps, out->step_stride, TENON_SIZE(tenon_plan_step, scratch_bytes), "steps");
  check_array(out->buffers, out->n_buffers, out->buffer_stride, TENON_SIZE(tenon_plan_buffer, offset), "buffers");
  check_array(out->values, out->n_values, out->value_stride, TENON_SIZE(tenon_plan_value, offset), "values");
  check_array(out->nodes, out->n_nodes, sizeof *out->nodes, sizeof *out->nodes, "nodes");
  check_steps(*out, program.nodes);
  check_buffers(*out, program);
  check_values(*out, program.nodes);
  return status;
}

}  // namespace tenon::plugin::validation
