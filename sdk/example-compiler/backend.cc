// example-compiler.so: a backend that takes whole graphs and compiles them itself. The SDK's runtime keeps its buffers and
// binds the arguments of a run; planner and kernel tables have no part in it.
#include "compiler.h"
#include "ops.h"
#include "tenon/plugin/host_backend.h"
#include "tenon/plugin/inline_backend.h"

namespace compiler {
namespace {

using namespace tenon::plugin;

struct Program : InlineProgram {
  Program(const tenon_host& host, Module module) : constants(std::move(module.constants)), code(host, module.source) {
    workspace_bytes = module.arena_bytes;
    code_bytes = code.bytes + constants.size();
  }
  void step(uint8_t* const* in, uint8_t* const* out, const uint64_t* scalars, uint8_t* workspace) const override {
    code.step(in, out, constants.data(), scalars, workspace);
  }
  std::vector<uint8_t> constants;
  Code code;
};

std::unique_ptr<InlineProgram> compile(const GraphView& graph, const tenon_options&, const tenon_host& host) {
  return std::make_unique<Program>(host, emit(graph));
}

}  // namespace
}  // namespace compiler

TENON_DECLARE_BACKEND

tenon_status tenon_backend_init(const tenon_host* host, tenon_backend* out) {
  static const tenon::plugin::InlineBackend backend{
      "example-compiler", "1.0", "C compiler", compiler::verdict_of, compiler::compile, compiler::check_compiler};
  return tenon::plugin::init_inline_backend(backend, host, out);
}
