// What several units of one device are dealt, what is told of them, and what they draw.
#include <algorithm>

#include "conformance/host/lowering.h"
#include "conformance/reference/reference_philox.h"
#include "conformance/suites/run/several_units.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

constexpr uint32_t kSeed = 20, kStep = 21, kStream = 22;

// Element e of random(kSeed, kStep, kStream).
float drawn(uint32_t e) {
  return static_cast<float>(reference::philox4x32_10({e >> 2, kStream, kStep, 0}, {kSeed, 0})[e & 3] >> 8) * 0x1p-24f;
}

// ---- buffers ----

// dims are global, rows in the order of the units.
void deals_rows_in_order(Subject& s, uint32_t least) {
  Replicas r(s, least);
  const int64_t rows = kUnitRows * r.units();
  const Buffer& split = r.make({rows, kUnitColumns}, TENON_SPLIT, ramp(rows * kUnitColumns));
  expect_equal(r.get(split), ramp(rows * kUnitColumns), "a SPLIT buffer");
  for (int64_t first = 0; first < rows; ++first) {  // also across the units' borders
    const int64_t n = std::min<int64_t>(2, rows - first);
    Floats part(static_cast<size_t>(n * kUnitColumns));
    r.queue[0].read(split, part.data(), part.size() * 4, static_cast<uint64_t>(first * kUnitColumns * 4));
    expect_equal(part, ramp(n * kUnitColumns, static_cast<float>(first * kUnitColumns)),
                 "rows of a SPLIT buffer from row " + std::to_string(first));
  }
  const Buffer& whole = r.make({rows, kUnitColumns}, TENON_REPLICATED, ramp(rows * kUnitColumns, 9));
  expect_equal(r.get(whole), ramp(rows * kUnitColumns, 9), "a REPLICATED buffer");
}

// Elementwise work on what is dealt, beside what every unit holds.
void works_on_split_states(Subject& s, uint32_t least) {
  Replicas r(s, least);
  const int64_t rows = kUnitRows * r.units();
  Sketch sketch;
  const uint32_t x = split_input(sketch, {kUnitRows, kUnitColumns}),
                 w = sketch.state(TENON_F32, {kUnitRows, kUnitColumns});
  const uint32_t state = sketch.builder.input(TENON_F32, {kUnitRows, kUnitColumns}, TENON_ROLE_STATE, {}, TENON_SPLIT);
  sketch.builder.result(sketch.add(state, x, {kUnitRows, kUnitColumns}), TENON_MODE_LAST, 3, TENON_SPLIT);
  sketch.builder.result(sketch.mul(x, w, {kUnitRows, kUnitColumns}), TENON_MODE_LAST, 0, TENON_SPLIT);
  const Buffer &xs = r.make({rows, kUnitColumns}, TENON_SPLIT, ramp(rows * kUnitColumns)),
               &ws = r.make({kUnitRows, kUnitColumns}, TENON_REPLICATED, filled(kUnitRows * kUnitColumns, 2));
  const Buffer &state_buffer = r.make({rows, kUnitColumns}, TENON_SPLIT, filled(rows * kUnitColumns, 1)),
               &out = r.make({rows, kUnitColumns}, TENON_SPLIT);
  r.run(sketch, {{&xs, &ws, &state_buffer}, {&state_buffer, &out}, {}, {}, 3});
  expect_equal(r.get(state_buffer), ramp(rows * kUnitColumns, 1, 3), "a SPLIT state after 3 iterations");
  expect_equal(r.get(out), ramp(rows * kUnitColumns, 0, 2), "a SPLIT result");
}

// ---- what is told ----

// Bytes and work are of all units: x w of one unit's rows of x.
void tells_of_all_units(Subject& s) {
  Replicas r(s, 2);
  const auto units = static_cast<uint64_t>(r.units());
  const int64_t inner = 40, columns = 56;
  Sketch sketch;
  const uint32_t x = split_input(sketch, {kUnitRows, inner}), w = sketch.state(TENON_F32, {inner, columns});
  sketch.builder.result(sketch.node("dot", {x, w}, TENON_F32, {kUnitRows, columns}), TENON_MODE_LAST, 0, TENON_SPLIT);
  const plugin::FlatGraph graph = sketch.builder.build();
  const Program one = compile(s, graph), all = compile(s, graph, 1, r.device);
  const auto at_least = [&](const char* field, uint64_t found, uint64_t least) {
    expect(found >= least, std::string("compile's info: ") + field + " of " + std::to_string(units) + " units is " +
                               std::to_string(found) + ", expected " + std::to_string(least) + " or more");
  };
  const uint64_t rows = units * kUnitRows, weights = 4 * inner * columns;
  at_least("argument_bytes", all.info().argument_bytes, 4 * rows * inner + weights);
  at_least("result_bytes", all.info().result_bytes, 4 * rows * columns);
  at_least("peak_bytes", all.info().peak_bytes, 4 * rows * (inner + columns) + weights);
  at_least("capacity_bytes", all.info().capacity_bytes, one.info().capacity_bytes);
  // Dealing rows out and joining them may count a little.
  const uint64_t flops = all.info().flops, of_one = one.info().flops;
  expect(flops >= units * of_one && flops <= (units + 1) * of_one, "compile's info: flops of " + std::to_string(units) +
                                                                       " units are " + std::to_string(flops) +
                                                                       ", of one " + std::to_string(of_one));
}

// A buffer counts with all that it has, wherever its units are.
void counts_memory_of_all_units(Subject& s) {
  if (s.backend().struct_size < TENON_SIZE(tenon_backend, stats) || !s.backend().stats)
    throw Unavailable{"the backend has no stats"};
  Replicas r(s, 2);
  const auto in_use = [&] {
    tenon_stats stats{};
    stats.struct_size = sizeof stats;
    expect_ok(s.backend().stats(r.device, &stats), "stats");
    return stats.bytes_in_use;
  };
  const uint64_t before = in_use(), bytes = 4u * 4096 * static_cast<uint64_t>(r.units());
  r.make({4096 * r.units()}, TENON_SPLIT);
  expect(in_use() >= before + bytes, "stats: in use grew by " + std::to_string(in_use() - before) +
                                         " with a SPLIT buffer of " + std::to_string(bytes) + " bytes");
}

// ---- chance ----

uint32_t integer(Sketch& sketch, int64_t value) { return sketch.builder.constant(TENON_I64, {}, &value, sizeof value); }

// All units' rows together are what one unit would draw, behind what `first` other units do; without per_replica each draws
// the first rows.
void draws(Subject& s, bool per_replica, int64_t first = 0) {
  Replicas r(s, 2);
  const int64_t rows = kUnitRows * r.units();
  Sketch sketch;
  const uint32_t y =
      sketch.node("random", {integer(sketch, kSeed), integer(sketch, kStep)}, TENON_F32, {kUnitRows, kUnitColumns});
  sketch.builder.attr_i64("stream", kStream)
      .attr_list("shape", {kUnitRows, kUnitColumns})
      .attr_bool("per_replica", per_replica);
  if (first) sketch.builder.attr_i64("first", first);
  sketch.builder.result(y, TENON_MODE_LAST, 0, TENON_SPLIT);
  const Buffer& out = r.make({rows, kUnitColumns}, TENON_SPLIT);
  r.run(sketch, {{}, {&out}});
  Floats expected;
  for (int64_t e = 0; e < rows * kUnitColumns; ++e)
    expected.push_back(drawn(
        static_cast<uint32_t>(per_replica ? first * kUnitRows * kUnitColumns + e : e % (kUnitRows * kUnitColumns))));
  expect_equal(r.get(out), expected, "what the units draw");
}

// A backend that decomposes dropout draws by random.
void drops_out(Subject& s, int64_t first) {
  Replicas r(s, 2);
  const int64_t rows = kUnitRows * r.units();
  Sketch sketch;
  const uint32_t x = split_input(sketch, {kUnitRows, kUnitColumns});
  const uint32_t y =
      sketch.node("dropout", {x, integer(sketch, kSeed), integer(sketch, kStep)}, TENON_F32, {kUnitRows, kUnitColumns});
  sketch.builder.attr_f64("rate", 0.5).attr_i64("stream", kStream).attr_i64("first", first);
  sketch.builder.result(y, TENON_MODE_LAST, 0, TENON_SPLIT);
  const plugin::FlatGraph graph = sketch.builder.build();
  if (decomposes(s, r.device, *graph.graph())) return;
  const Buffer &in = r.make({rows, kUnitColumns}, TENON_SPLIT, filled(rows * kUnitColumns, 3)),
               &out = r.make({rows, kUnitColumns}, TENON_SPLIT);
  r.run(sketch, {{&in}, {&out}});
  Floats expected;
  for (int64_t e = 0; e < rows * kUnitColumns; ++e)
    expected.push_back(drawn(static_cast<uint32_t>(first * kUnitRows * kUnitColumns + e)) >= 0.5f ? 6 : 0);
  expect_equal(r.get(out), expected, "what dropout keeps");
}

}  // namespace

void add_dealt_unit_tests(Tests& tests) {
  const auto add = [&](const char* group, const char* name, std::function<void(Subject&)> run) {
    add_test(tests, "collectives", group, name, std::move(run), 4);
  };
  add("split", "a buffer on one unit or more", [](Subject& s) { deals_rows_in_order(s, 1); });
  add("split", "a state on one unit or more", [](Subject& s) { works_on_split_states(s, 1); });
  add("split", "a buffer on several units", [](Subject& s) { deals_rows_in_order(s, 2); });
  add("split", "a state on several units", [](Subject& s) { works_on_split_states(s, 2); });
  add("told", "bytes and work of all units", tells_of_all_units);
  add("told", "memory of all units", counts_memory_of_all_units);
}

void add_drawing_unit_tests(Tests& tests) {
  const auto add = [&](const char* name, std::function<void(Subject&)> run) {
    add_test(tests, "collectives", "chance", name, std::move(run), 4);
  };
  add("random of each replica", [](Subject& s) { draws(s, true); });
  add("random of all replicas", [](Subject& s) { draws(s, false); });
  add("random of each replica, behind as many", [](Subject& s) { draws(s, true, 8); });
  add("random of each replica, behind others", [](Subject& s) { draws(s, true, 5); });
  add("dropout", [](Subject& s) { drops_out(s, 0); });
  add("dropout behind as many", [](Subject& s) { drops_out(s, 8); });
  add("dropout behind others", [](Subject& s) { drops_out(s, 5); });
}

}  // namespace tenon::conformance
