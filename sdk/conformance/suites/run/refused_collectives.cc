// Part of the collectives suite: what no device of so many units can do.
#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

constexpr int64_t kRowsEach = 3, kColumnsEach = 5;

// A device on as many units of unit 0's domain as there are, at most 8; closed at the end.
struct OnAllUnits {
  explicit OnAllUnits(Subject& subject) : s(subject) {
    while (n < s.units().size() && n < 8 && s.units()[n].domain == s.units()[0].domain) ++n;
    if (n < 2) throw Unavailable{"there is one unit"};
    device = s.open_device(n);
  }
  ~OnAllUnits() { s.backend().device_close(device); }
  Subject& s;
  uint32_t n = 1;
  tenon_device* device = nullptr;
};

struct Exchange {
  std::string_view op;
  int64_t group, replicas;
};

// x[rows, kColumnsEach] of each replica, rows a multiple of the replicas.
plugin::FlatGraph exchange_graph(const Exchange& exchange) {
  const int64_t n = exchange.replicas, rows = kRowsEach * n;
  const bool gathers = exchange.op == "all_gather", reduces = exchange.op == "all_reduce";
  Sketch sketch;
  const uint32_t x = sketch.feed(TENON_F32, {rows, kColumnsEach});
  const uint32_t y = sketch.node(exchange.op, {x}, TENON_F32,
                                 {gathers   ? rows * n
                                  : reduces ? rows
                                            : kRowsEach,
                                  kColumnsEach});
  if (reduces)
    sketch.builder.attr_enum("kind", TENON_REDUCE_SUM);
  else
    sketch.builder.attr_i64("axis", 0);
  sketch.builder.attr_i64("group", exchange.group).attr_i64("replicas", n);
  sketch.builder.result(y);
  return sketch.builder.build();
}

void expect_exchange_refused(Subject& s, tenon_device* device, const Exchange& exchange, const std::string& where) {
  const std::string what = std::string(exchange.op) + " of " + std::to_string(exchange.replicas) +
                           " replicas in groups of " + std::to_string(exchange.group) + " on " + where;
  const plugin::FlatGraph graph = exchange_graph(exchange);
  expect(answers(s, device, *graph.graph())[0].answer != TENON_TAKE, "supports takes " + what);
  tenon_options options{};
  options.struct_size = sizeof options;
  tenon_info info{};
  info.struct_size = sizeof info;
  tenon_program* program = nullptr;
  const tenon_status status = s.backend().compile(device, graph.graph(), &options, &program, &info);
  if (status.code == TENON_OK) s.backend().program_destroy(program);
  expect(status.code == TENON_UNSUPPORTED || status.code == TENON_INVALID,
         "compile of " + what + ": expected UNSUPPORTED or INVALID, found " + code_name(status.code));
  expect_code(status, status.code, "compile of " + what);
}

// Else every unit would take its own part for that of all.
void refuses_replicas_that_are_not_there(Subject& s) {
  for (const std::string_view op : {"all_reduce", "all_gather", "reduce_scatter"}) {
    expect_exchange_refused(s, s.device(), {op, 0, 2}, "one unit");
    expect_exchange_refused(s, s.device(), {op, 2, 2}, "one unit");
  }
}

void refuses_groups_that_do_not_divide(Subject& s) {
  const OnAllUnits all(s);
  const int64_t n = all.n;
  const std::string where = std::to_string(n) + " units";
  for (const std::string_view op : {"all_reduce", "all_gather", "reduce_scatter"}) {
    expect_exchange_refused(s, all.device, {op, 0, n + 1}, where);
    expect_exchange_refused(s, all.device, {op, n + 1, n + 1}, where);
    if (n > 2) expect_exchange_refused(s, all.device, {op, n - 1, n - 1}, where);
  }
}

}  // namespace

void add_refused_collective_tests(Tests& tests) {
  add_test(tests, "collectives", "refused", "replicas that are not there", refuses_replicas_that_are_not_there);
  add_test(tests, "collectives", "refused", "groups that the units do not divide into",
           refuses_groups_that_do_not_divide, 4);
}

}  // namespace tenon::conformance
