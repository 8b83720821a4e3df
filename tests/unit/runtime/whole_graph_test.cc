// A backend that takes whole graphs: one of negations and sums of i64.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "tenon/plugin/graph_builder.h"
#include "tenon/plugin/host_backend.h"
#include "tenon/plugin/inline_backend.h"

namespace tenon::plugin::testing {
namespace {

// y = -x + the scalars, by way of the workspace.
struct Negation : InlineProgram {
  explicit Negation(const GraphView& graph) : n(graph.value(graph.result(0).value).elements()) {
    for (uint32_t i = 0; i < graph.n_inputs(); ++i) scalars += graph.input(i).role == TENON_ROLE_SCALAR;
    workspace_bytes = static_cast<uint64_t>(n) * 8;
    code_bytes = 123;
  }
  void step(uint8_t* const* in, uint8_t* const* out, const uint64_t* scalar, uint8_t* workspace) const override {
    const auto* x = reinterpret_cast<const int64_t*>(in[0]);
    auto *y = reinterpret_cast<int64_t*>(out[0]), *kept = reinterpret_cast<int64_t*>(workspace);
    for (int64_t i = 0; i < n; ++i) kept[i] = -x[i];
    for (int64_t i = 0; i < n; ++i) {
      y[i] = kept[i];
      for (int k = 0; k < scalars; ++k) y[i] += static_cast<int64_t>(scalar[k]);
    }
  }
  int64_t n;
  int scalars = 0;
};

Verdict whole_verdict(const NodeView& node) { return node.op() == "neg" ? take() : refuse("not here"); }
std::unique_ptr<InlineProgram> compile_whole(const GraphView& graph, const tenon_options&, const tenon_host&) {
  return std::make_unique<Negation>(graph);
}

class WholeGraphs : public ::testing::Test {
 protected:
  WholeGraphs() {
    static const InlineBackend backend{"whole", "1", "Whole", whole_verdict, compile_whole};
    table.struct_size = sizeof table;
    good(init_inline_backend(backend, nullptr, &table));
    tenon_open open{};
    open.struct_size = sizeof open;
    good(table.device_open(table.self, &open, &device));
  }
  ~WholeGraphs() override { table.device_close(device); }
  static void good(tenon_status s) { EXPECT_EQ(s.code, TENON_OK) << (s.message ? s.message : ""); }

  tenon_backend table{};
  tenon_device* device = nullptr;
};

FlatGraph graph_of(const char* op) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_I64, {3}, TENON_ROLE_FEED), y = b.value(TENON_I64, {3});
  b.input(TENON_I64, {}, TENON_ROLE_SCALAR);
  b.input(TENON_I64, {}, TENON_ROLE_SCALAR);
  b.node(op, {x}, {y}).name("node");
  b.result(y);
  return b.build();
}

TEST_F(WholeGraphs, AreAskedForByTheBackendsOwnVerdicts) {
  tenon_options options{};
  options.struct_size = sizeof options;
  for (const char* op : {"neg", "abs"}) {
    const bool taken = std::string_view(op) == "neg";
    const FlatGraph graph = graph_of(op);
    const uint32_t node = 0;
    tenon_verdict verdict{};
    good(table.supports(device, graph.graph(), &options, &node, 1, &verdict, sizeof verdict));
    EXPECT_EQ(verdict.answer, taken ? TENON_TAKE : TENON_REFUSE);
    tenon_program* program = nullptr;
    const tenon_status status = table.compile(device, graph.graph(), &options, &program, nullptr);
    EXPECT_EQ(status.code, taken ? TENON_OK : TENON_UNSUPPORTED);
    EXPECT_EQ(std::string(taken ? "" : status.message), taken ? "" : "abs 'node': not here");
    table.program_destroy(program);
  }
}

TEST_F(WholeGraphs, AreNeitherTracedNorDescribed) {
  EXPECT_EQ(table.trace, nullptr);
  EXPECT_EQ(table.describe, nullptr);
}

TEST_F(WholeGraphs, AreGivenInputsScalarsAndAWorkspace) {
  const FlatGraph graph = graph_of("neg");
  tenon_options options{};
  options.struct_size = sizeof options;
  tenon_info info{};
  info.struct_size = sizeof info;
  tenon_program* program = nullptr;
  good(table.compile(device, graph.graph(), &options, &program, &info));
  EXPECT_EQ(info.code_bytes, 123u);
  EXPECT_EQ(info.n_allocations, 0u);
  tenon_queue* queue = nullptr;
  good(table.queue_create(device, 0, &queue));
  tenon_desc desc{};
  desc.struct_size = sizeof desc;
  desc.flags = TENON_DESC_HOST;
  desc.dtype = TENON_I64;
  desc.rank = 1;
  desc.dims[0] = 3;
  tenon_buffer *x = nullptr, *y = nullptr;
  void *in = nullptr, *out = nullptr;
  good(table.buffer_alloc(device, &desc, &x, &in));
  good(table.buffer_alloc(device, &desc, &y, &out));
  const int64_t numbers[] = {1, 2, 3};
  std::memcpy(in, numbers, sizeof numbers);
  const tenon_scalar scalars[] = {{.i64 = 10}, {.i64 = 100}};
  tenon_run run{};
  run.struct_size = sizeof run;
  run.program = program;
  run.iterations = 1;
  run.inputs = &x;
  run.results = &y;
  run.scalars = scalars;
  uint64_t ticket = 0;
  good(table.run(queue, &run, &ticket, nullptr));
  good(table.wait(queue, ticket, UINT64_MAX));
  const int64_t want[] = {109, 108, 107};
  EXPECT_EQ(std::memcmp(out, want, sizeof want), 0);
  table.queue_destroy(queue);
  table.buffer_free(x);
  table.buffer_free(y);
  table.program_destroy(program);
}

}  // namespace
}  // namespace tenon::plugin::testing
