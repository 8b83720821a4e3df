// Several units as one device: buffers dealt over them, ops that exchange.
#include <algorithm>
#include <cmath>

#include "conformance/host/lowering.h"
#include "conformance/reference/reference_philox.h"
#include "conformance/suites/run/lowered_collectives.h"
#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

constexpr int64_t kRows = 3, kColumns = 5;  // of one unit

// A device on as many units of unit 0's domain as there are, at most 8; closed at the end.
struct Replicas {
  Replicas(Subject& subject, uint32_t least) : s(subject), n(count(s)) {
    if (n < least) throw Unavailable{"there is one unit"};
    device = s.open_device(n);
    queue.emplace_back(s, device);
  }
  ~Replicas() {
    queue.clear();
    buffers.clear();
    s.backend().device_close(device);
  }

  static uint32_t count(Subject& s) {
    const std::vector<tenon_unit>& units = s.units();
    uint32_t n = 1;
    while (n < units.size() && n < 8 && units[n].domain == units[0].domain) ++n;
    return n;
  }

  // f32 of this global shape.
  Buffer& make(const Dims& dims, int32_t placement, const Floats& values = {}, int32_t dtype = TENON_F32) {
    BufferOptions options;
    options.placement = placement;
    buffers.push_back(std::make_unique<Buffer>(s, device, dtype, dims, options));
    if (values.empty())
      queue[0].write_rubbish(*buffers.back());
    else
      write(queue[0], *buffers.back(), values);
    return *buffers.back();
  }
  void run(const Sketch& sketch, Arguments arguments) {
    const Program program = compile(s, lowered_collectives(s, device, sketch.builder.build()), 4, device);
    run_now(queue[0], program, std::move(arguments));
  }
  Floats get(const Buffer& buffer) { return read(queue[0], buffer); }
  int64_t units() const { return n; }

  Subject& s;
  uint32_t n;
  tenon_device* device = nullptr;
  std::vector<Queue> queue;
  std::vector<std::unique_ptr<Buffer>> buffers;
};

constexpr uint32_t kSeed = 20, kStep = 21, kStream = 22;

// Element e of random(kSeed, kStep, kStream).
float drawn(uint32_t e) {
  return static_cast<float>(reference::philox4x32_10({e >> 2, kStream, kStep, 0}, {kSeed, 0})[e & 3] >> 8) * 0x1p-24f;
}

uint32_t split_input(Sketch& sketch, const Dims& dims) {
  return sketch.builder.input(TENON_F32, dims, TENON_ROLE_FEED, {}, TENON_SPLIT);
}

// ---- buffers ----

// dims are global, rows in the order of the units.
void deals_rows_in_order(Subject& s, uint32_t least) {
  Replicas r(s, least);
  const int64_t rows = kRows * r.units();
  const Buffer& split = r.make({rows, kColumns}, TENON_SPLIT, ramp(rows * kColumns));
  expect_equal(r.get(split), ramp(rows * kColumns), "a SPLIT buffer");
  for (int64_t first = 0; first < rows; ++first) {  // also across the units' borders
    const int64_t n = std::min<int64_t>(2, rows - first);
    Floats part(static_cast<size_t>(n * kColumns));
    r.queue[0].read(split, part.data(), part.size() * 4, static_cast<uint64_t>(first * kColumns * 4));
    expect_equal(part, ramp(n * kColumns, static_cast<float>(first * kColumns)),
                 "rows of a SPLIT buffer from row " + std::to_string(first));
  }
  const Buffer& whole = r.make({rows, kColumns}, TENON_REPLICATED, ramp(rows * kColumns, 9));
  expect_equal(r.get(whole), ramp(rows * kColumns, 9), "a REPLICATED buffer");
}

// Elementwise work on what is dealt, beside what every unit holds.
void works_on_split_states(Subject& s, uint32_t least) {
  Replicas r(s, least);
  const int64_t rows = kRows * r.units();
  Sketch sketch;
  const uint32_t x = split_input(sketch, {kRows, kColumns}), w = sketch.state(TENON_F32, {kRows, kColumns});
  const uint32_t state = sketch.builder.input(TENON_F32, {kRows, kColumns}, TENON_ROLE_STATE, {}, TENON_SPLIT);
  sketch.builder.result(sketch.add(state, x, {kRows, kColumns}), TENON_MODE_LAST, 3, TENON_SPLIT);
  sketch.builder.result(sketch.mul(x, w, {kRows, kColumns}), TENON_MODE_LAST, 0, TENON_SPLIT);
  const Buffer &xs = r.make({rows, kColumns}, TENON_SPLIT, ramp(rows * kColumns)),
               &ws = r.make({kRows, kColumns}, TENON_REPLICATED, filled(kRows * kColumns, 2));
  const Buffer &state_buffer = r.make({rows, kColumns}, TENON_SPLIT, filled(rows * kColumns, 1)),
               &out = r.make({rows, kColumns}, TENON_SPLIT);
  r.run(sketch, {{&xs, &ws, &state_buffer}, {&state_buffer, &out}, {}, {}, 3});
  expect_equal(r.get(state_buffer), ramp(rows * kColumns, 1, 3), "a SPLIT state after 3 iterations");
  expect_equal(r.get(out), ramp(rows * kColumns, 0, 2), "a SPLIT result");
}

// ---- what is told ----

// Bytes and work are of all units: x w of one unit's rows of x.
void tells_of_all_units(Subject& s) {
  Replicas r(s, 2);
  const auto units = static_cast<uint64_t>(r.units());
  const int64_t inner = 40, columns = 56;
  Sketch sketch;
  const uint32_t x = split_input(sketch, {kRows, inner}), w = sketch.state(TENON_F32, {inner, columns});
  sketch.builder.result(sketch.node("dot", {x, w}, TENON_F32, {kRows, columns}), TENON_MODE_LAST, 0, TENON_SPLIT);
  const plugin::FlatGraph graph = sketch.builder.build();
  const Program one = compile(s, graph), all = compile(s, graph, 1, r.device);
  const auto at_least = [&](const char* field, uint64_t found, uint64_t least) {
    expect(found >= least, std::string("compile's info: ") + field + " of " + std::to_string(units) + " units is " +
                               std::to_string(found) + ", expected " + std::to_string(least) + " or more");
  };
  const uint64_t rows = units * kRows, weights = 4 * inner * columns;
  at_least("argument_bytes", all.info().argument_bytes, 4 * rows * inner + weights);
  at_least("result_bytes", all.info().result_bytes, 4 * rows * columns);
  at_least("peak_bytes", all.info().peak_bytes, 4 * rows * (inner + columns) + weights);
  at_least("capacity_bytes", all.info().capacity_bytes, one.info().capacity_bytes);
  // Dealing rows out and joining them may count a little.
  const uint64_t flops = all.info().flops, of_one = one.info().flops;
  expect(flops >= units * of_one && flops <= (units + 1) * of_one,
         "compile's info: flops of " + std::to_string(units) + " units are " + std::to_string(flops) + ", of one " +
             std::to_string(of_one));
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

// ---- ops ----

void attributes(Sketch& sketch, const Replicas& r, int64_t axis, int kind) {
  if (axis >= 0) sketch.builder.attr_i64("axis", axis);
  if (kind >= 0) sketch.builder.attr_enum("kind", kind);
  sketch.builder.attr_i64("group", 0).attr_i64("replicas", r.units());
}

void knows_replicas(Subject& s, int64_t first) {
  Replicas r(s, 2);
  Sketch sketch;
  const uint32_t id = sketch.node("replica_id", {}, TENON_I32, {});
  if (first) sketch.builder.attr_i64("first", first);
  const uint32_t as_float = sketch.node("cast", {id}, TENON_F32, {});
  sketch.builder.attr_dtype("to", TENON_F32);
  sketch.builder.result(sketch.mul(sketch.fill({kRows}, 1), as_float, {kRows}), TENON_MODE_LAST, 0, TENON_SPLIT);
  const Buffer& out = r.make({kRows * r.units()}, TENON_SPLIT);
  r.run(sketch, {{}, {&out}});
  Floats expected;
  for (int64_t unit = 0; unit < r.units(); ++unit)
    expected.insert(expected.end(), kRows, static_cast<float>(first + unit));
  expect_equal(r.get(out), expected, "replica_id of each unit, the first of which is " + std::to_string(first));
}

void gathers(Subject& s) {
  Replicas r(s, 2);
  const int64_t rows = kRows * r.units();
  Sketch sketch;
  const uint32_t gathered =
      sketch.node("all_gather", {split_input(sketch, {kRows, kColumns})}, TENON_F32, {rows, kColumns});
  attributes(sketch, r, 0, -1);
  sketch.builder.result(gathered);
  const Buffer &x = r.make({rows, kColumns}, TENON_SPLIT, ramp(rows * kColumns)),
               &out = r.make({rows, kColumns}, TENON_REPLICATED);
  r.run(sketch, {{&x}, {&out}});
  expect_equal(r.get(out), ramp(rows * kColumns), "all_gather");
}

// Columns side by side: row i of the result is row i of every unit, in their order.
void gathers_columns(Subject& s) {
  Replicas r(s, 2);
  const int64_t columns = kColumns * r.units();
  Sketch sketch;
  const uint32_t gathered =
      sketch.node("all_gather", {split_input(sketch, {kRows, kColumns})}, TENON_F32, {kRows, columns});
  attributes(sketch, r, 1, -1);
  sketch.builder.result(gathered);
  const Buffer &x = r.make({kRows * r.units(), kColumns}, TENON_SPLIT, ramp(kRows * columns)),
               &out = r.make({kRows, columns}, TENON_REPLICATED);
  r.run(sketch, {{&x}, {&out}});
  Floats expected;
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t unit = 0; unit < r.units(); ++unit)
      for (int64_t j = 0; j < kColumns; ++j) expected.push_back(static_cast<float>((unit * kRows + i) * kColumns + j));
  expect_equal(r.get(out), expected, "all_gather of columns");
}

// Element i of unit u is 100 u + i.
Floats by_unit(const Replicas& r, int64_t elements) {
  Floats values;
  for (int64_t u = 0; u < r.units(); ++u)
    for (int64_t i = 0; i < elements; ++i) values.push_back(static_cast<float>(100 * u + i));
  return values;
}

void reduces(Subject& s, int kind) {
  Replicas r(s, 2);
  const int64_t n = kRows * kColumns;
  Sketch sketch;
  const uint32_t reduced =
      sketch.node("all_reduce", {split_input(sketch, {kRows, kColumns})}, TENON_F32, {kRows, kColumns});
  attributes(sketch, r, -1, kind);
  sketch.builder.result(reduced);
  const Buffer &x = r.make({kRows * r.units(), kColumns}, TENON_SPLIT, by_unit(r, n)),
               &out = r.make({kRows, kColumns}, TENON_REPLICATED);
  r.run(sketch, {{&x}, {&out}});
  const float units = static_cast<float>(r.units());
  if (kind == TENON_REDUCE_SUM)
    expect_equal(r.get(out), ramp(n, 100 * units * (units - 1) / 2, units), "all_reduce sum");
  else
    expect_equal(r.get(out), ramp(n, kind == TENON_REDUCE_MAX ? 100 * (units - 1) : 0), "all_reduce max or min");
}

void reduces_and_scatters(Subject& s) {
  Replicas r(s, 2);
  const int64_t rows = kRows * r.units();  // of one unit's operand
  Sketch sketch;
  const uint32_t scattered =
      sketch.node("reduce_scatter", {split_input(sketch, {rows, kColumns})}, TENON_F32, {kRows, kColumns});
  attributes(sketch, r, 0, -1);
  sketch.builder.result(scattered, TENON_MODE_LAST, 0, TENON_SPLIT);
  const Buffer &x = r.make({rows * r.units(), kColumns}, TENON_SPLIT, by_unit(r, rows * kColumns)),
               &out = r.make({rows, kColumns}, TENON_SPLIT);
  r.run(sketch, {{&x}, {&out}});
  const float units = static_cast<float>(r.units());
  expect_equal(r.get(out), ramp(rows * kColumns, 100 * units * (units - 1) / 2, units), "reduce_scatter");
}

// Each unit is left with columns of its own of the sum.
void scatters_columns(Subject& s) {
  Replicas r(s, 2);
  const int64_t units = r.units(), columns = kColumns * units;  // of one unit's operand
  Sketch sketch;
  const uint32_t scattered =
      sketch.node("reduce_scatter", {split_input(sketch, {kRows, columns})}, TENON_F32, {kRows, kColumns});
  attributes(sketch, r, 1, -1);
  sketch.builder.result(scattered, TENON_MODE_LAST, 0, TENON_SPLIT);
  const Buffer &x = r.make({kRows * units, columns}, TENON_SPLIT, by_unit(r, kRows * columns)),
               &out = r.make({kRows * units, kColumns}, TENON_SPLIT);
  r.run(sketch, {{&x}, {&out}});
  Floats expected;
  for (int64_t unit = 0; unit < units; ++unit)
    for (int64_t i = 0; i < kRows; ++i)
      for (int64_t j = 0; j < kColumns; ++j) {
        const int64_t element = i * columns + unit * kColumns + j;
        expected.push_back(static_cast<float>(100 * units * (units - 1) / 2 + units * element));
      }
  expect_equal(r.get(out), expected, "reduce_scatter of columns");
}

// Replicated states stay equal: each unit adds the mean of what all were dealt.
void keeps_replicated_states_equal(Subject& s) {
  Replicas r(s, 2);
  const int64_t n = kRows * kColumns;
  Sketch sketch;
  const uint32_t state = sketch.state(TENON_F32, {kRows, kColumns});
  const uint32_t sum =
      sketch.node("all_reduce", {split_input(sketch, {kRows, kColumns})}, TENON_F32, {kRows, kColumns});
  attributes(sketch, r, -1, TENON_REDUCE_SUM);
  const uint32_t updated = sketch.add(state, sum, {kRows, kColumns});
  sketch.builder.result(updated, TENON_MODE_LAST, 1);
  sketch.builder.result(updated, TENON_MODE_LAST, 0, TENON_SPLIT);  // every unit's own copy
  const Buffer &state_buffer = r.make({kRows, kColumns}, TENON_REPLICATED, ramp(n)),
               &x = r.make({kRows * r.units(), kColumns}, TENON_SPLIT, by_unit(r, n));
  const Buffer& copies = r.make({kRows * r.units(), kColumns}, TENON_SPLIT);
  r.run(sketch, {{&state_buffer, &x}, {&state_buffer, &copies}, {}, {}, 4});
  const float units = static_cast<float>(r.units());
  const Floats expected = ramp(n, 200 * units * (units - 1), 1 + 4 * units);
  expect_equal(r.get(state_buffer), expected, "the replicated state");
  Floats all;
  for (int64_t u = 0; u < r.units(); ++u) all.insert(all.end(), expected.begin(), expected.end());
  expect_equal(r.get(copies), all, "each unit's copy of the replicated state");
}

// Neighbours: units 0 and 1, units 2 and 3, ..
void reduces_in_groups(Subject& s) {
  Replicas r(s, 4);
  if (r.units() % 2) throw Unavailable{"the number of units is odd"};
  const int64_t n = kRows * kColumns;
  Sketch sketch;
  const uint32_t reduced =
      sketch.node("all_reduce", {split_input(sketch, {kRows, kColumns})}, TENON_F32, {kRows, kColumns});
  sketch.builder.attr_enum("kind", TENON_REDUCE_SUM).attr_i64("group", 2).attr_i64("replicas", 2);
  sketch.builder.result(reduced, TENON_MODE_LAST, 0, TENON_SPLIT);
  const Buffer &x = r.make({kRows * r.units(), kColumns}, TENON_SPLIT, by_unit(r, n)),
               &out = r.make({kRows * r.units(), kColumns}, TENON_SPLIT);
  r.run(sketch, {{&x}, {&out}});
  Floats expected;
  for (int64_t u = 0; u < r.units(); ++u) {
    const Floats sums = ramp(n, 100 * static_cast<float>(u / 2 * 4 + 1), 2);
    expected.insert(expected.end(), sums.begin(), sums.end());
  }
  expect_equal(r.get(out), expected, "all_reduce over pairs");
}

// batch_norm over all units. A backend may decompose it; what it takes must see every unit's rows, not its own alone.
void normalizes_over_units(Subject& s) {
  Replicas r(s, 2);
  const int64_t n = kRows * kColumns;
  Sketch sketch;
  const uint32_t x = split_input(sketch, {kRows, kColumns});
  const uint32_t y = sketch.builder.value(TENON_F32, {kRows, kColumns});
  const uint32_t mean = sketch.builder.value(TENON_F32, {kColumns}), var = sketch.builder.value(TENON_F32, {kColumns});
  sketch.builder.node("batch_norm", {x, sketch.fill({kColumns}, 1), sketch.fill({kColumns}, 0)}, {y, mean, var})
      .name("normalized")
      .attr_i64("group", 0);
  sketch.builder.result(mean);
  sketch.builder.result(y, TENON_MODE_LAST, 0, TENON_SPLIT);
  if (decomposes(s, r.device, *sketch.builder.build().graph())) return;
  const Floats values = by_unit(r, n);
  const Buffer &in = r.make({kRows * r.units(), kColumns}, TENON_SPLIT, values),
               &means = r.make({kColumns}, TENON_REPLICATED), &out = r.make({kRows * r.units(), kColumns}, TENON_SPLIT);
  try {
    r.run(sketch, {{&in}, {&means, &out}});
  } catch (const Unsupported& u) {
    fail("supports takes batch_norm of several units, and compile does not: " + u.reason);
  }
  const Floats found_means = r.get(means), found = r.get(out);
  for (int64_t j = 0; j < kColumns; ++j) {
    double sum = 0, squares = 0;
    const int64_t count = kRows * r.units();
    for (int64_t i = 0; i < count; ++i) sum += values[static_cast<size_t>(i * kColumns + j)];
    const double middle = sum / static_cast<double>(count);
    for (int64_t i = 0; i < count; ++i) squares += std::pow(values[static_cast<size_t>(i * kColumns + j)] - middle, 2);
    const double deviation = std::sqrt(squares / static_cast<double>(count) + 0.001);
    const auto near = [&](double is, double expected, const std::string& what) {
      expect(std::fabs(is - expected) <= 1e-4 * (1 + std::fabs(expected)),
             what + " of column " + std::to_string(j) + " is " + std::to_string(is) + ", expected " +
                 std::to_string(expected));
    };
    near(found_means[static_cast<size_t>(j)], middle, "the mean over all units");
    for (int64_t i = 0; i < count; ++i) {
      const size_t e = static_cast<size_t>(i * kColumns + j);
      near(found[e], (values[e] - middle) / deviation, "row " + std::to_string(i));
    }
  }
}

// ---- chance ----

uint32_t integer(Sketch& sketch, int64_t value) { return sketch.builder.constant(TENON_I64, {}, &value, sizeof value); }

// All units' rows together are what one unit would draw, behind what `first` other units do; without per_replica each draws
// the first rows.
void draws(Subject& s, bool per_replica, int64_t first = 0) {
  Replicas r(s, 2);
  const int64_t rows = kRows * r.units();
  Sketch sketch;
  const uint32_t y =
      sketch.node("random", {integer(sketch, kSeed), integer(sketch, kStep)}, TENON_F32, {kRows, kColumns});
  sketch.builder.attr_i64("stream", kStream)
      .attr_list("shape", {kRows, kColumns})
      .attr_bool("per_replica", per_replica);
  if (first) sketch.builder.attr_i64("first", first);
  sketch.builder.result(y, TENON_MODE_LAST, 0, TENON_SPLIT);
  const Buffer& out = r.make({rows, kColumns}, TENON_SPLIT);
  r.run(sketch, {{}, {&out}});
  Floats expected;
  for (int64_t e = 0; e < rows * kColumns; ++e)
    expected.push_back(
        drawn(static_cast<uint32_t>(per_replica ? first * kRows * kColumns + e : e % (kRows * kColumns))));
  expect_equal(r.get(out), expected, "what the units draw");
}

// A backend that decomposes dropout draws by random.
void drops_out(Subject& s, int64_t first) {
  Replicas r(s, 2);
  const int64_t rows = kRows * r.units();
  Sketch sketch;
  const uint32_t x = split_input(sketch, {kRows, kColumns});
  const uint32_t y =
      sketch.node("dropout", {x, integer(sketch, kSeed), integer(sketch, kStep)}, TENON_F32, {kRows, kColumns});
  sketch.builder.attr_f64("rate", 0.5).attr_i64("stream", kStream).attr_i64("first", first);
  sketch.builder.result(y, TENON_MODE_LAST, 0, TENON_SPLIT);
  const plugin::FlatGraph graph = sketch.builder.build();
  if (decomposes(s, r.device, *graph.graph())) return;
  const Buffer &in = r.make({rows, kColumns}, TENON_SPLIT, filled(rows * kColumns, 3)),
               &out = r.make({rows, kColumns}, TENON_SPLIT);
  r.run(sketch, {{&in}, {&out}});
  Floats expected;
  for (int64_t e = 0; e < rows * kColumns; ++e)
    expected.push_back(drawn(static_cast<uint32_t>(first * kRows * kColumns + e)) >= 0.5f ? 6 : 0);
  expect_equal(r.get(out), expected, "what dropout keeps");
}

}  // namespace

void add_collective_tests(Tests& tests) {
  const auto add = [&](const char* group, const char* name, std::function<void(Subject&)> run) {
    add_test(tests, "collectives", group, name, std::move(run), 4);
  };
  add("split", "a buffer on one unit or more", [](Subject& s) { deals_rows_in_order(s, 1); });
  add("split", "a state on one unit or more", [](Subject& s) { works_on_split_states(s, 1); });
  add("split", "a buffer on several units", [](Subject& s) { deals_rows_in_order(s, 2); });
  add("split", "a state on several units", [](Subject& s) { works_on_split_states(s, 2); });
  add("told", "bytes and work of all units", tells_of_all_units);
  add("told", "memory of all units", counts_memory_of_all_units);
  add("ops", "replica_id", [](Subject& s) { knows_replicas(s, 0); });
  add("ops", "replica_id behind other devices'", [](Subject& s) { knows_replicas(s, 5); });
  add("ops", "all_gather", gathers);
  add("ops", "all_gather of columns", gathers_columns);
  add("ops", "all_reduce sum", [](Subject& s) { reduces(s, TENON_REDUCE_SUM); });
  add("ops", "all_reduce max", [](Subject& s) { reduces(s, TENON_REDUCE_MAX); });
  add("ops", "all_reduce min", [](Subject& s) { reduces(s, TENON_REDUCE_MIN); });
  add("ops", "reduce_scatter", reduces_and_scatters);
  add("ops", "reduce_scatter of columns", scatters_columns);
  add("ops", "replicated states stay equal", keeps_replicated_states_equal);
  add("ops", "all_reduce in groups", reduces_in_groups);
  add("composites", "batch_norm over all units", normalizes_over_units);
  add("chance", "random of each replica", [](Subject& s) { draws(s, true); });
  add("chance", "random of all replicas", [](Subject& s) { draws(s, false); });
  add("chance", "random of each replica, behind as many", [](Subject& s) { draws(s, true, 8); });
  add("chance", "random of each replica, behind others", [](Subject& s) { draws(s, true, 5); });
  add("chance", "dropout", [](Subject& s) { drops_out(s, 0); });
  add("chance", "dropout behind as many", [](Subject& s) { drops_out(s, 8); });
  add("chance", "dropout behind others", [](Subject& s) { drops_out(s, 5); });
  add_refused_collective_tests(tests);
}

}  // namespace tenon::conformance
