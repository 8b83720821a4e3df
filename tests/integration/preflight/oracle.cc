// A backend that only predicts, always the same: two cores that take all ops but what their spec says. `oracle:NAME`
// refuses ops of that name; `oracle:full` runs out of memory in lines.
#include <cstring>
#include <string>
#include <vector>

#include "tenon/abi/forecast.h"
#include "tenon/plugin/graph.h"
#include "tenon/plugin/host_backend.h"

TENON_DECLARE_BACKEND

struct tenon_device {
  std::string spec;
};
struct tenon_program {
  std::vector<tenon_allocation> allocations;
  std::vector<tenon_forecast_kernel> kernels;
  std::vector<tenon_forecast_argument> arguments;
  std::vector<tenon_forecast_padding> paddings;
  uint32_t iterations = 0;
};

namespace {

using tenon::plugin::GraphView;

constexpr tenon_status kOk{TENON_OK, 0, nullptr};
constexpr tenon_status kNever{TENON_UNSUPPORTED, 0, "an oracle runs nothing"};

tenon_status enumerate(void*, const char*, tenon_unit* units, uint64_t stride, uint32_t* count) {
  for (uint32_t i = 0; units && i < *count && i < 2; ++i) {
    tenon_unit u{};
    u.flags = TENON_UNIT_EMULATED;
    u.kind = TENON_ACCELERATOR;
    u.feed_depth = 1;
    std::strcpy(u.name, "Oracle");
    std::memcpy(reinterpret_cast<char*>(units) + i * stride, &u, std::min<uint64_t>(stride, sizeof u));
  }
  *count = 2;
  return kOk;
}

tenon_status device_open(void*, const tenon_open* open, tenon_device** out) {
  *out = new tenon_device{open->spec ? open->spec : ""};
  return kOk;
}

tenon_status supports(tenon_device* device, const tenon_graph* graph, const tenon_options*, const uint32_t* nodes,
                      uint32_t n, tenon_verdict* out, uint64_t stride) {
  const GraphView view(*graph);
  for (uint32_t i = 0; i < n; ++i) {
    const bool refused = view.node(nodes[i]).op() == device->spec;
    const tenon_verdict v{refused ? TENON_REFUSE : TENON_TAKE, 0, refused ? "no oracle knows it" : nullptr};
    std::memcpy(reinterpret_cast<char*>(out) + i * stride, &v, std::min<uint64_t>(stride, sizeof v));
  }
  return kOk;
}

// What the first node makes, after something smaller; every input at twice its size. That result has rows of 4, and one
// row of the first input is 8; other rows are of nothing that there is.
void plan(const GraphView& view, tenon_program& program) {
  for (uint32_t i = 0; i < view.n_inputs(); ++i) {
    const auto dense = static_cast<uint64_t>(view.value(view.input(i).value).bytes());
    program.arguments.push_back({i, 0, 2 * dense, dense});
  }
  const auto made = static_cast<uint64_t>(view.node(0).out(0).bytes());
  const auto size = [&](int axis) { return static_cast<uint64_t>(view.node(0).out(0).dim(axis)); };
  const auto fed = static_cast<uint64_t>(view.value(view.input(0).value).dim(1));
  program.paddings = {{0, 0, 1, 0, size(1), 4},
                      {0, 0, 0, 0, size(0), 2 * size(0)},
                      {TENON_NONE, 0, 1, 0, fed, 2 * fed},
                      {0, 0, 7, 0, 1, 2},
                      {0, 9, 0, 0, 1, 2},
                      {1u << 30, 0, 0, 0, 1, 2},
                      {0, 0, 1, 0, size(1) + 1, 9},
                      {0, 0, 1, 0, size(1), 1}};
  program.allocations = {{1, 0, 1 << 10, 1, 0, 0, 0}, {0, 0, 1 << 20, made, 1 << 10, 0, 0}};
}

thread_local tenon_program asked;  // for when there is no program

tenon_status compile(tenon_device* device, const tenon_graph* graph, const tenon_options* options, tenon_program** out,
                     tenon_info* info) {
  if (!(options->flags & TENON_OPTION_FORECAST)) return kNever;
  const GraphView view(*graph);
  const bool full = device->spec == "full";
  tenon_program* program = full ? &(asked = {}) : new tenon_program;
  program->iterations = options->max_iterations;
  plan(view, *program);
  const uint32_t last = view.n_nodes() - 1;
  program->kernels = {{0, 3, "dot", "matrix unit", 0, 1500000000, 4000, 8000, 100, 200},
                      {last, 1, "update", "HBM", 1500000000, 500000000, 0, 0, 10, 20}};
  info->argument_bytes = 2 * 1000;  // of two cores
  info->workspace_bytes = 2 * 2000;
  info->code_bytes = 2 * 300;
  info->reserved_bytes = 2 * 40;
  info->peak_bytes = 2 * (full ? 9000 : 3340);
  info->capacity_bytes = 2 * 8000;
  info->allocations = program->allocations.data();
  info->allocation_stride = sizeof(tenon_allocation);
  info->n_allocations = static_cast<uint32_t>(program->allocations.size());
  if (full) return {TENON_OUT_OF_MEMORY, 0, "Ran out of memory.\n  1. Size: 9000\n  2. Size: \x1b[31m1"};
  *out = program;
  return kOk;
}

tenon_status forecast_step(const tenon_program* program, tenon_forecast_step* out) {
  tenon_forecast_step s{};
  s.machine = "oracle-2";
  s.software = "Delphi 1.0";
  s.bottleneck = "matrix unit";
  s.advice = "ask again\nask another";
  s.validated = 1;
  s.units = 2;
  s.hosts = 1;
  s.step_ns = 2500000;
  s.device_ns = 2000000;
  s.infeed_ns = 700000;
  s.outfeed_ns = 1000;
  s.host_ns = program->iterations * 1000ull;
  s.collective_ns = 300000;
  s.update_ns = 500000;
  s.flops = 4000000;
  s.flops_per_second = 3200000000;
  s.kernels = program->kernels.data();
  s.n_kernels = static_cast<uint32_t>(program->kernels.size());
  s.kernel_stride = sizeof(tenon_forecast_kernel);
  s.arguments = program->arguments.data();
  s.n_arguments = static_cast<uint32_t>(program->arguments.size());
  s.argument_stride = sizeof(tenon_forecast_argument);
  s.paddings = program->paddings.data();
  s.n_paddings = static_cast<uint32_t>(program->paddings.size());
  s.padding_stride = sizeof(tenon_forecast_padding);
  s.struct_size = std::min<uint64_t>(out->struct_size, sizeof s);
  std::memcpy(out, &s, s.struct_size);
  return kOk;
}

const void* extension(void*, const char* name, uint32_t version) {
  static const tenon_forecast table{sizeof table, 0, forecast_step,
                                    [](void*) -> const char* { return "full\nother\n"; }};
  return std::string(name) == TENON_FORECAST && version == 1 ? &table : nullptr;
}

}  // namespace

tenon_status tenon_backend_init(const tenon_host*, tenon_backend* out) {
  tenon_backend t{};
  t.abi_major = TENON_ABI_MAJOR;
  t.abi_minor = TENON_ABI_MINOR;
  t.name = "oracle";
  t.version = "1";
  t.enumerate = enumerate;
  t.device_open = device_open;
  t.device_close = [](tenon_device* device) { delete device; };
  t.supports = supports;
  t.compile = compile;
  t.program_destroy = [](tenon_program* program) { delete program; };
  t.buffer_alloc = [](tenon_device*, const tenon_desc*, tenon_buffer**, void**) { return kNever; };
  t.buffer_free = [](tenon_buffer*) {};
  t.queue_create = [](tenon_device*, uint64_t, tenon_queue**) { return kNever; };
  t.queue_destroy = [](tenon_queue*) {};
  t.copy = [](tenon_queue*, const tenon_copy*, uint64_t*) { return kNever; };
  t.run = [](tenon_queue*, const tenon_run*, uint64_t*, uint32_t*) { return kNever; };
  t.wait = [](tenon_queue*, uint64_t, uint64_t) { return kNever; };
  t.extension = extension;
  t.struct_size = std::min<uint64_t>(out->struct_size, sizeof t);
  std::memcpy(out, &t, t.struct_size);
  return kOk;
}
