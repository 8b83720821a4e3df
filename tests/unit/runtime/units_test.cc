// A device of several units in ordinary memory: what it takes, what it plans, and what it tells of itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "tenon/plugin/graph_builder.h"
#include "tenon/plugin/host_backend.h"

namespace tenon::plugin::testing {
namespace {

int64_t most_elements = 100;  // of what neg takes

// neg (a), add (a, b) of i64; nothing that the collectives are named.
void fill_units(KernelTable& table) {
  const Accept any = [](const NodeView&) { return take(); };
  const Accept few = [](const NodeView& node) {
    return node.out(0).elements() <= most_elements ? take() : refuse("too many");
  };
  table.add("neg", few, [](const NodeView& node, const Env&) {
    Kernel k;
    k.run = [n = node.out(0).elements()](const Call& c) {
      for (int64_t i = 0; i < n; ++i) c.out<int64_t>(0)[i] = -c.in<int64_t>(0)[i];
    };
    return k;
  });
  table.add("add", any, [](const NodeView& node, const Env&) {
    Kernel k;
    k.run = [n = node.out(0).elements()](const Call& c) {
      for (int64_t i = 0; i < n; ++i) c.out<int64_t>(0)[i] = c.in<int64_t>(0)[i] + c.in<int64_t>(1)[i];
    };
    return k;
  });
}

class Units : public ::testing::TestWithParam<bool> {
 protected:
  // With a backend that unites units, or one that does not; of a spec's units those that are listed.
  Units() {
    static const HostBackend apart{"units", "2.5", "Unit", TENON_CPU, fill_units, false, 4},
        united{"units", "2.5", "Unit", TENON_CPU, fill_units, false, 4, nullptr, nullptr, true};
    table.struct_size = sizeof table;
    good(init_host_backend(GetParam() ? united : apart, nullptr, &table));
  }
  ~Units() override {
    most_elements = 100;
    table.program_destroy(program);
    if (device) table.device_close(device);
  }
  static void good(tenon_status s) { EXPECT_EQ(s.code, TENON_OK) << (s.message ? s.message : ""); }

  tenon_status open(const char* spec, const std::vector<uint32_t>& units) {
    tenon_open open{};
    open.struct_size = sizeof open;
    open.spec = spec;
    open.units = units.data();
    open.n_units = static_cast<uint32_t>(units.size());
    return table.device_open(table.self, &open, &device);
  }
  // y = the sum of all units' -x, each of which has two rows of x.
  FlatGraph sum_of_rows(int64_t units = 2) {
    GraphBuilder b;
    const uint32_t x = b.input(TENON_I64, {2}, TENON_ROLE_FEED, {}, TENON_SPLIT), y = b.value(TENON_I64, {2}),
                   sum = b.value(TENON_I64, {2});
    b.node("neg", {x}, {y}).name("negated");
    b.node("all_reduce", {y}, {sum}).name("sum").attr_enum("kind", TENON_REDUCE_SUM).attr_i64("replicas", units);
    b.result(sum);
    return b.build();
  }
  void compile(const FlatGraph& graph) {
    tenon_options options{};
    options.struct_size = sizeof options;
    options.flags = TENON_OPTION_TRACE;
    good(table.compile(device, graph.graph(), &options, &program, nullptr));
  }

  tenon_backend table{};
  tenon_device* device = nullptr;
  tenon_program* program = nullptr;
};

TEST_P(Units, TakeCollectivesForWhichThereIsNoKernel) {
  good(open("units=2", {0, 1}));
  GraphBuilder b;
  const uint32_t x = b.input(TENON_I64, {2}, TENON_ROLE_FEED, {}, TENON_SPLIT), sum = b.value(TENON_I64, {2}),
                 part = b.value(TENON_I64, {1}), all = b.value(TENON_I64, {4}), id = b.value(TENON_I32, {}),
                 drawn = b.value(TENON_I64, {2});
  b.node("all_reduce", {x}, {sum}).name("sum").attr_enum("kind", TENON_REDUCE_SUM).attr_i64("replicas", 2);
  b.node("reduce_scatter", {x}, {part}).name("part").attr_i64("axis", 0).attr_i64("replicas", 2);
  b.node("all_gather", {x}, {all}).name("all").attr_i64("axis", 0).attr_i64("replicas", 2);
  b.node("replica_id", {}, {id}).name("id");
  b.node("abs", {x}, {drawn}).name("none");
  for (uint32_t v : {sum, part, all, id, drawn}) b.result(v);
  const FlatGraph graph = b.build();
  tenon_options options{};
  options.struct_size = sizeof options;
  const uint32_t nodes[] = {0, 1, 2, 3, 4};
  tenon_verdict verdicts[5]{};
  good(table.supports(device, graph.graph(), &options, nodes, 5, verdicts, sizeof verdicts[0]));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(verdicts[i].answer, TENON_TAKE) << i;
  EXPECT_EQ(verdicts[4].answer, TENON_DECOMPOSE);
}

TEST_P(Units, HaveTheirRowsInOneBuffer) {
  good(open("units=2", {0, 1}));
  compile(sum_of_rows());
  tenon_queue* queue = nullptr;
  good(table.queue_create(device, 0, &queue));
  tenon_buffer* buffers[2];
  int64_t* memory[2];
  for (int i = 0; i < 2; ++i) {
    tenon_desc desc{};
    desc.struct_size = sizeof desc;
    desc.flags = TENON_DESC_HOST;
    desc.dtype = TENON_I64;
    desc.rank = 1;
    desc.dims[0] = 4;
    good(table.buffer_alloc(device, &desc, &buffers[i], reinterpret_cast<void**>(&memory[i])));
  }
  for (int i = 0; i < 4; ++i) memory[0][i] = i + 1;
  using UnitAndWork = std::pair<uint32_t, uint64_t>;
  std::vector<UnitAndWork> units;  // that negated, and operations
  const auto keep = [](void* ctx, const tenon_event* events, uint32_t n, uint64_t) {
    for (const tenon_event* e = events; e != events + n; ++e)
      if (e->node == 0)
        static_cast<std::vector<UnitAndWork>*>(ctx)->push_back({e->unit, e->flops});
      else
        EXPECT_EQ(e->flops, 2u);  // of the sum of two rows
  };
  const tenon_sink sink{sizeof sink, 0, &units, keep};
  good(table.trace(device, &sink));
  tenon_run run{};
  run.struct_size = sizeof run;
  run.program = program;
  run.iterations = 1;
  run.inputs = &buffers[0];
  run.results = &buffers[1];
  uint64_t ticket = 0;
  good(table.run(queue, &run, &ticket, nullptr));
  good(table.trace(device, nullptr));
  EXPECT_EQ(memory[1][0], -4);
  EXPECT_EQ(memory[1][1], -6);
  const std::vector<UnitAndWork> united = {{0, 4}}, apart = {{0, 2}, {1, 2}};
  EXPECT_EQ(units, GetParam() ? united : apart);
  table.queue_destroy(queue);
  for (tenon_buffer* b : buffers) table.buffer_free(b);
}

// What a node is written as besides itself, to cut rows or to join them, does not do it.
TEST_P(Units, NameTheNodesThatEachStepDoes) {
  good(open("units=2", {0, 1}));
  compile(sum_of_rows());
  tenon_plan plan{};
  plan.struct_size = sizeof plan;
  good(table.describe(program, &plan));
  std::vector<std::string> told;
  for (uint32_t i = 0; i < plan.n_steps; ++i) {
    const tenon_plan_step& step = plan.steps[i];
    std::string text =
        std::string(step.op) + " of node " + std::to_string(step.node) + " on " + std::to_string(step.unit) + ":";
    for (uint32_t k = 0; k < step.nodes.count; ++k) text += " " + std::to_string(plan.nodes[step.nodes.first + k]);
    told.push_back(text);
  }
  // Where rows are united, the sum is that of two slices, which are views.
  const std::vector<std::string> apart = {"neg of node 0 on 0: 0", "neg of node 0 on 1: 0", "add of node 1 on 0: 1"},
                                 united = {"neg of node 0 on 0: 0", "add of node 1 on 0: 1"};
  EXPECT_EQ(told, GetParam() ? united : apart);
  std::vector<std::string> values;
  for (uint32_t i = 0; i < plan.n_values; ++i)
    values.push_back(std::to_string(plan.values[i].node) + "/" +
                     (plan.values[i].result == TENON_NONE ? "-" : std::to_string(plan.values[i].result)) + "/" +
                     std::to_string(plan.values[i].unit));
  EXPECT_EQ(std::count(values.begin(), values.end(), "0/0/0"), 1);
  EXPECT_EQ(std::count(values.begin(), values.end(), "0/0/1"), GetParam() ? 0 : 1);
}

// The sum of three is written as two.
TEST_P(Units, NameANodeOnceThatIsWrittenAsTwo) {
  good(open("units=3", {0, 1, 2}));
  compile(sum_of_rows(3));
  tenon_plan plan{};
  plan.struct_size = sizeof plan;
  good(table.describe(program, &plan));
  std::vector<uint32_t> named;
  for (uint32_t i = 0; i < plan.n_steps; ++i)
    if (std::string_view(plan.steps[i].op) == "add") named.push_back(plan.steps[i].nodes.count);
  EXPECT_EQ(named, (std::vector<uint32_t>{1, 0}));
}

// For the rows of both units there is no kernel, for those of one there is.
TEST_P(Units, AreUnitedOnlyWhereThereIsAKernel) {
  most_elements = 2;
  good(open("units=2", {0, 1}));
  compile(sum_of_rows());
  tenon_plan plan{};
  plan.struct_size = sizeof plan;
  good(table.describe(program, &plan));
  const auto negates = [](const tenon_plan_step& step) { return std::string_view(step.op) == "neg"; };
  EXPECT_EQ(std::count_if(plan.steps, plan.steps + plan.n_steps, negates), 2);
}

TEST_P(Units, TellTheirFacts) {
  for (const uint32_t n : {1u, 3u}) {
    good(open("units=3", n == 1 ? std::vector<uint32_t>{2} : std::vector<uint32_t>{0, 1, 2}));
    tenon_facts facts;
    std::memset(&facts, 0xFF, sizeof facts);
    facts.struct_size = sizeof facts;
    facts.flags = 0;
    good(table.facts(device, &facts));
    EXPECT_STREQ(facts.kind, "CPU");
    EXPECT_EQ(facts.vendor, nullptr);
    EXPECT_STREQ(facts.driver, "units 2.5");
    EXPECT_EQ(facts.topology, std::to_string(n));
    EXPECT_EQ(facts.trace_clock, TENON_CLOCK_MONOTONIC);
    EXPECT_EQ(facts.reserved, 0u);
    table.device_close(device);
    device = nullptr;
  }
}

TEST_P(Units, AreAsManyAsTheSpecSays) {
  const auto count = [&](const char* spec) {
    uint32_t n = 0;
    const tenon_status status = table.enumerate(table.self, spec, nullptr, 0, &n);
    EXPECT_EQ(status.code, n ? TENON_OK : TENON_UNAVAILABLE);
    EXPECT_EQ(std::string(n ? "" : status.message),
              n ? "" : "no such spec: expected none, 0, or units=N with N from 1 to 4");
    return n;
  };
  EXPECT_EQ(count(nullptr), 1u);
  EXPECT_EQ(count("0"), 1u);
  EXPECT_EQ(count("units=1"), 1u);
  EXPECT_EQ(count("units=4"), 4u);
  for (const char* none :
       {"units=5", "units=0", "units=", "units=a", "units=+1", "units=:", "units=1a", "units=10", "1", "unit=1"})
    EXPECT_EQ(count(none), 0u) << none;
}

TEST_P(Units, AreNamedOnceAndAreThere) {
  EXPECT_STREQ(open("units=2", {1, 0, 1}).message, "device_open: unit 1 is named twice");
  EXPECT_STREQ(open("units=2", {0, 2}).message, "device_open: unit 2, expected one below 2");
  EXPECT_EQ(device, nullptr);
}

INSTANTIATE_TEST_SUITE_P(UnitedOrNot, Units, ::testing::Bool());

// A kind that has no name that everybody knows is not told.
TEST(Facts, AreOfTheBackendsKindAndVendor) {
  static const HostBackend backends[] = {
      {"gpu", "1", "G", TENON_GPU, fill_units, false, 1, nullptr, [] { return "ACME"; }},
      {"other", "1", "O", TENON_ACCELERATOR, fill_units, true, 2}};
  for (const HostBackend& backend : backends) {
    tenon_backend table{};
    table.struct_size = sizeof table;
    ASSERT_EQ(init_host_backend(backend, nullptr, &table).code, TENON_OK);
    uint32_t n = 0;
    const bool is_gpu = backend.kind == TENON_GPU;
    EXPECT_STREQ(table.enumerate(table.self, "units=3", nullptr, 0, &n).message,
                 is_gpu ? "no such spec: expected none, or 0, the only unit"
                        : "no such spec: expected none, 0, or units=N with N from 1 to 2");
    tenon_unit unit{};
    n = 1;
    EXPECT_EQ(table.enumerate(table.self, nullptr, &unit, sizeof unit, &n).code, TENON_OK);
    EXPECT_EQ(unit.flags, is_gpu ? uint64_t{TENON_UNIT_INLINE} : 0u);  // queues of the other have threads
    tenon_open open{};
    open.struct_size = sizeof open;
    tenon_device* device = nullptr;
    ASSERT_EQ(table.device_open(table.self, &open, &device).code, TENON_OK);
    tenon_facts facts{};
    facts.struct_size = sizeof facts;
    EXPECT_EQ(table.facts(device, &facts).code, TENON_OK);
    EXPECT_EQ(std::string(facts.kind ? facts.kind : "-"), is_gpu ? "GPU" : "-");
    EXPECT_EQ(std::string(facts.vendor ? facts.vendor : "-"), is_gpu ? "ACME" : "-");
    table.device_close(device);
  }
}

}  // namespace
}  // namespace tenon::plugin::testing
