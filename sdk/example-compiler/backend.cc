// example-compiler.so: a backend that takes whole graphs and compiles them itself. The SDK's headers keep its buffers and bind
// the arguments of a run; its planner, its executor and its kernel tables have no part in it.
#include "compiler.h"
#include "ops.h"
#include "tenon/plugin/graph_check.h"
#include "tenon/plugin/host_backend.h"
#include "tenon/plugin/inline_program.h"

namespace compiler {
namespace {

using namespace tenon::plugin;

constexpr char kName[] = "example-compiler", kVersion[] = "1.0";
constexpr uint64_t kOptions = TENON_OPTION_DETERMINISTIC | TENON_OPTION_TRACE;

struct Device : InlineDevice {
  explicit Device(const tenon_host& of) : host(of) {}
  const tenon_host& host;
};

struct Program : InlineProgram {
  Program(Device& device, const GraphView& graph, const tenon_options& options, Module module)
      : InlineProgram(device, graph, options, module.arena_bytes),
        constants(std::move(module.constants)),
        code(device.host, module.source) {}
  void step(uint8_t* const* in, uint8_t* const* out, const uint64_t* scalars, uint8_t* workspace) const override {
    code.step(in, out, constants.data(), scalars, workspace);
  }
  std::vector<uint8_t> constants;
  Code code;
};

tenon_status enumerate(void*, const char* spec, tenon_unit* units, uint64_t stride, uint32_t* count) {
  return guarded([&] {
    check_one_unit(spec);
    check_compiler();
    give_one_unit("C compiler", kVersion, units, stride, count);
  });
}

tenon_status device_open(void* self, const tenon_open* given, tenon_device** out) {
  return guarded([&] {
    const tenon_open open = known(given);
    check_flags(open.flags, 0, "device_open");
    check_one_unit(open.spec, open.units, open.n_units);
    check_compiler();
    *out = handle_of(new Device(*static_cast<const tenon_host*>(self)));
  });
}

void device_close(tenon_device* device) { delete static_cast<Device*>(device_of(device)); }

tenon_status supports(tenon_device*, const tenon_graph* graph, const tenon_options* options, const uint32_t* nodes,
                      uint32_t n, tenon_verdict* out, uint64_t stride) {
  return guarded([&] {
    check_graph(graph, "supports");
    check_flags(graph->flags, 0, "supports");
    check_flags(known(options).flags, kOptions, "supports");
    answer_nodes(*graph, nodes, n, out, stride, verdict_of);
  });
}

tenon_status compile(tenon_device* device, const tenon_graph* graph, const tenon_options* given, tenon_program** out,
                     tenon_info* info) {
  return guarded([&] {
    const tenon_options options = known(given);
    check_graph(graph, "compile");
    check_flags(graph->flags, 0, "compile");
    check_flags(options.flags, kOptions, "compile");
    const GraphView view(*graph);
    auto program = std::make_unique<Program>(static_cast<Device&>(*device_of(device)), view, options, emit(view));
    if (info) give(program->info(program->code.bytes + program->constants.size()), info);
    program->reserve(options.memory_limit);
    *out = handle_of(program.release());
  });
}

}  // namespace
}  // namespace compiler

TENON_DECLARE_BACKEND

tenon_status tenon_backend_init(const tenon_host* host, tenon_backend* out) {
  return tenon::plugin::guarded([&] {
    auto own = std::make_unique<tenon_host>(host ? tenon::plugin::known(host) : tenon_host{});
    tenon::plugin::check_flags(own->flags, 0, "tenon_backend_init");
    tenon_backend table{};
    table.abi_major = TENON_ABI_MAJOR;
    table.abi_minor = TENON_ABI_MINOR;
    static auto& hosts = *new std::vector<std::unique_ptr<tenon_host>>;  // for ever: a table has no end
    hosts.push_back(std::move(own));
    table.self = hosts.back().get();
    table.name = compiler::kName;
    table.version = compiler::kVersion;
    table.enumerate = compiler::enumerate;
    table.device_open = compiler::device_open;
    table.device_close = compiler::device_close;
    table.supports = compiler::supports;
    table.compile = compiler::compile;
    tenon::plugin::add_program_entries(table);
    tenon::plugin::give(table, out);
  });
}
