// Several units as one device: split and replicated buffers, and the ops that join replicas.
#include <algorithm>

#include "conformance/suites/support.h"

namespace tenon::conformance {
namespace {

constexpr uint32_t kMostUnits = 8;

// A device on all units, up to eight.
class Team {
 public:
  explicit Team(Subject& s) : subject(s), n(std::min<uint32_t>(static_cast<uint32_t>(s.units().size()), kMostUnits)) {
    if (n < 2) throw Unavailable{"one unit only"};
    device = s.open_device(n);
  }
  ~Team() { subject.backend().device_close(device); }
  Team(const Team&) = delete;

  // Runs a graph of one FEED input, dealt over the units, and one result.
  Floats run(const plugin::FlatGraph& graph, const Floats& x, const Dims& x_dims, const Dims& y_dims, int32_t y_placement) {
    const Program program = compile(subject, graph, 1, device);
    Queue queue(subject, device);
    const Buffer in(subject, device, TENON_F32, x_dims, {.placement = TENON_SPLIT});
    const Buffer out(subject, device, TENON_F32, y_dims, {.placement = y_placement});
    queue.write(in, x.data(), x.size() * sizeof(float));
    Arguments arguments;
    arguments.inputs = {&in};
    arguments.results = {&out};
    run_now(queue, program, arguments);
    Floats y(out.bytes() / sizeof(float));
    queue.read(out, y.data(), out.bytes());
    return y;
  }

  Subject& subject;
  int64_t n;
  tenon_device* device = nullptr;
};

uint32_t split_input(Sketch& s, const Dims& dims) { return s.builder.input(TENON_F32, dims, TENON_ROLE_FEED, "x", TENON_SPLIT); }

void split_buffers_are_dealt_in_order(Subject& s) {
  Team team(s);
  Sketch g;
  const uint32_t x = split_input(g, {2, 3}), id = g.node("replica_id", {}, TENON_I32, {}), f = g.node("cast", {id}, TENON_F32, {});
  g.builder.attr_dtype("to", TENON_F32);
  g.builder.result(g.add(x, f, {2, 3}), TENON_MODE_LAST, 0, TENON_SPLIT);
  const int64_t elements = team.n * 6;
  Floats expected = ramp(elements);
  for (int64_t i = 0; i < elements; ++i) expected[static_cast<size_t>(i)] += static_cast<float>(i / 6);
  expect_equal(team.run(g.builder.build(), ramp(elements), {2 * team.n, 3}, {2 * team.n, 3}, TENON_SPLIT), expected, "x + replica_id");
}

void all_gather(Subject& s) {
  Team team(s);
  Sketch g;
  const uint32_t y = g.node("all_gather", {split_input(g, {2, 3})}, TENON_F32, {2 * team.n, 3});
  g.builder.attr_i64("axis", 0).attr_i64("group", 0).attr_i64("replicas", team.n);
  g.builder.result(y);
  expect_equal(team.run(g.builder.build(), ramp(6 * team.n), {2 * team.n, 3}, {2 * team.n, 3}, TENON_REPLICATED), ramp(6 * team.n), "all_gather");
}

void all_reduce(Subject& s) {
  Team team(s);
  Sketch g;
  const uint32_t y = g.node("all_reduce", {split_input(g, {2, 3})}, TENON_F32, {2, 3});
  g.builder.attr_enum("kind", TENON_SUM).attr_i64("group", 0).attr_i64("replicas", team.n);
  g.builder.result(y);
  Floats expected(6, 0);
  for (int64_t i = 0; i < 6 * team.n; ++i) expected[static_cast<size_t>(i % 6)] += static_cast<float>(i);
  expect_equal(team.run(g.builder.build(), ramp(6 * team.n), {2 * team.n, 3}, {2, 3}, TENON_REPLICATED), expected, "all_reduce");
}

void reduce_scatter(Subject& s) {
  Team team(s);
  Sketch g;
  const uint32_t y = g.node("reduce_scatter", {split_input(g, {team.n, 3})}, TENON_F32, {1, 3});
  g.builder.attr_i64("axis", 0).attr_i64("group", 0).attr_i64("replicas", team.n);
  g.builder.result(y, TENON_MODE_LAST, 0, TENON_SPLIT);
  Floats expected(static_cast<size_t>(3 * team.n), 0);
  for (int64_t i = 0; i < 3 * team.n * team.n; ++i) expected[static_cast<size_t>(i % (3 * team.n))] += static_cast<float>(i);
  expect_equal(team.run(g.builder.build(), ramp(3 * team.n * team.n), {team.n * team.n, 3}, {team.n, 3}, TENON_SPLIT), expected, "reduce_scatter");
}

}  // namespace

void add_collective_tests(Tests& tests) {
  add_test(tests, "collectives", "", "split_buffers_are_dealt_in_order", split_buffers_are_dealt_in_order, 4);
  add_test(tests, "collectives", "", "all_gather", all_gather, 4);
  add_test(tests, "collectives", "", "all_reduce", all_reduce, 4);
  add_test(tests, "collectives", "", "reduce_scatter", reduce_scatter, 4);
}

}  // namespace tenon::conformance
