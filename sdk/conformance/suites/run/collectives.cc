// Ops by which several units of one device exchange.
#include <cmath>

#include "conformance/host/lowering.h"
#include "conformance/suites/run/several_units.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

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
  sketch.builder.result(sketch.mul(sketch.fill({kUnitRows}, 1), as_float, {kUnitRows}), TENON_MODE_LAST, 0,
                        TENON_SPLIT);
  const Buffer& out = r.make({kUnitRows * r.units()}, TENON_SPLIT);
  r.run(sketch, {{}, {&out}});
  Floats expected;
  for (int64_t unit = 0; unit < r.units(); ++unit)
    expected.insert(expected.end(), kUnitRows, static_cast<float>(first + unit));
  expect_equal(r.get(out), expected, "replica_id of each unit, the first of which is " + std::to_string(first));
}

void gathers(Subject& s) {
  Replicas r(s, 2);
  const int64_t rows = kUnitRows * r.units();
  Sketch sketch;
  const uint32_t gathered =
      sketch.node("all_gather", {split_input(sketch, {kUnitRows, kUnitColumns})}, TENON_F32, {rows, kUnitColumns});
  attributes(sketch, r, 0, -1);
  sketch.builder.result(gathered);
  const Buffer &x = r.make({rows, kUnitColumns}, TENON_SPLIT, ramp(rows * kUnitColumns)),
               &out = r.make({rows, kUnitColumns}, TENON_REPLICATED);
  r.run(sketch, {{&x}, {&out}});
  expect_equal(r.get(out), ramp(rows * kUnitColumns), "all_gather");
}

// Columns side by side: row i of the result is row i of every unit, in their order.
void gathers_columns(Subject& s) {
  Replicas r(s, 2);
  const int64_t columns = kUnitColumns * r.units();
  Sketch sketch;
  const uint32_t gathered =
      sketch.node("all_gather", {split_input(sketch, {kUnitRows, kUnitColumns})}, TENON_F32, {kUnitRows, columns});
  attributes(sketch, r, 1, -1);
  sketch.builder.result(gathered);
  const Buffer &x = r.make({kUnitRows * r.units(), kUnitColumns}, TENON_SPLIT, ramp(kUnitRows * columns)),
               &out = r.make({kUnitRows, columns}, TENON_REPLICATED);
  r.run(sketch, {{&x}, {&out}});
  Floats expected;
  for (int64_t i = 0; i < kUnitRows; ++i)
    for (int64_t unit = 0; unit < r.units(); ++unit)
      for (int64_t j = 0; j < kUnitColumns; ++j)
        expected.push_back(static_cast<float>((unit * kUnitRows + i) * kUnitColumns + j));
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
  const int64_t n = kUnitRows * kUnitColumns;
  Sketch sketch;
  const uint32_t reduced =
      sketch.node("all_reduce", {split_input(sketch, {kUnitRows, kUnitColumns})}, TENON_F32, {kUnitRows, kUnitColumns});
  attributes(sketch, r, -1, kind);
  sketch.builder.result(reduced);
  const Buffer &x = r.make({kUnitRows * r.units(), kUnitColumns}, TENON_SPLIT, by_unit(r, n)),
               &out = r.make({kUnitRows, kUnitColumns}, TENON_REPLICATED);
  r.run(sketch, {{&x}, {&out}});
  const float units = static_cast<float>(r.units());
  if (kind == TENON_REDUCE_SUM)
    expect_equal(r.get(out), ramp(n, 100 * units * (units - 1) / 2, units), "all_reduce sum");
  else
    expect_equal(r.get(out), ramp(n, kind == TENON_REDUCE_MAX ? 100 * (units - 1) : 0), "all_reduce max or min");
}

void reduces_and_scatters(Subject& s) {
  Replicas r(s, 2);
  const int64_t rows = kUnitRows * r.units();  // of one unit's operand
  Sketch sketch;
  const uint32_t scattered =
      sketch.node("reduce_scatter", {split_input(sketch, {rows, kUnitColumns})}, TENON_F32, {kUnitRows, kUnitColumns});
  attributes(sketch, r, 0, -1);
  sketch.builder.result(scattered, TENON_MODE_LAST, 0, TENON_SPLIT);
  const Buffer &x = r.make({rows * r.units(), kUnitColumns}, TENON_SPLIT, by_unit(r, rows * kUnitColumns)),
               &out = r.make({rows, kUnitColumns}, TENON_SPLIT);
  r.run(sketch, {{&x}, {&out}});
  const float units = static_cast<float>(r.units());
  expect_equal(r.get(out), ramp(rows * kUnitColumns, 100 * units * (units - 1) / 2, units), "reduce_scatter");
}

// Each unit is left with columns of its own of the sum.
void scatters_columns(Subject& s) {
  Replicas r(s, 2);
  const int64_t units = r.units(), columns = kUnitColumns * units;  // of one unit's operand
  Sketch sketch;
  const uint32_t scattered =
      sketch.node("reduce_scatter", {split_input(sketch, {kUnitRows, columns})}, TENON_F32, {kUnitRows, kUnitColumns});
  attributes(sketch, r, 1, -1);
  sketch.builder.result(scattered, TENON_MODE_LAST, 0, TENON_SPLIT);
  const Buffer &x = r.make({kUnitRows * units, columns}, TENON_SPLIT, by_unit(r, kUnitRows * columns)),
               &out = r.make({kUnitRows * units, kUnitColumns}, TENON_SPLIT);
  r.run(sketch, {{&x}, {&out}});
  Floats expected;
  for (int64_t unit = 0; unit < units; ++unit)
    for (int64_t i = 0; i < kUnitRows; ++i)
      for (int64_t j = 0; j < kUnitColumns; ++j) {
        const int64_t element = i * columns + unit * kUnitColumns + j;
        expected.push_back(static_cast<float>(100 * units * (units - 1) / 2 + units * element));
      }
  expect_equal(r.get(out), expected, "reduce_scatter of columns");
}

// Replicated states stay equal: each unit adds the mean of what all were dealt.
void keeps_replicated_states_equal(Subject& s) {
  Replicas r(s, 2);
  const int64_t n = kUnitRows * kUnitColumns;
  Sketch sketch;
  const uint32_t state = sketch.state(TENON_F32, {kUnitRows, kUnitColumns});
  const uint32_t sum =
      sketch.node("all_reduce", {split_input(sketch, {kUnitRows, kUnitColumns})}, TENON_F32, {kUnitRows, kUnitColumns});
  attributes(sketch, r, -1, TENON_REDUCE_SUM);
  const uint32_t updated = sketch.add(state, sum, {kUnitRows, kUnitColumns});
  sketch.builder.result(updated, TENON_MODE_LAST, 1);
  sketch.builder.result(updated, TENON_MODE_LAST, 0, TENON_SPLIT);  // every unit's own copy
  const Buffer &state_buffer = r.make({kUnitRows, kUnitColumns}, TENON_REPLICATED, ramp(n)),
               &x = r.make({kUnitRows * r.units(), kUnitColumns}, TENON_SPLIT, by_unit(r, n));
  const Buffer& copies = r.make({kUnitRows * r.units(), kUnitColumns}, TENON_SPLIT);
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
  const int64_t n = kUnitRows * kUnitColumns;
  Sketch sketch;
  const uint32_t reduced =
      sketch.node("all_reduce", {split_input(sketch, {kUnitRows, kUnitColumns})}, TENON_F32, {kUnitRows, kUnitColumns});
  sketch.builder.attr_enum("kind", TENON_REDUCE_SUM).attr_i64("group", 2).attr_i64("replicas", 2);
  sketch.builder.result(reduced, TENON_MODE_LAST, 0, TENON_SPLIT);
  const Buffer &x = r.make({kUnitRows * r.units(), kUnitColumns}, TENON_SPLIT, by_unit(r, n)),
               &out = r.make({kUnitRows * r.units(), kUnitColumns}, TENON_SPLIT);
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
  const int64_t n = kUnitRows * kUnitColumns;
  Sketch sketch;
  const uint32_t x = split_input(sketch, {kUnitRows, kUnitColumns});
  const uint32_t y = sketch.builder.value(TENON_F32, {kUnitRows, kUnitColumns});
  const uint32_t mean = sketch.builder.value(TENON_F32, {kUnitColumns}),
                 var = sketch.builder.value(TENON_F32, {kUnitColumns});
  sketch.builder.node("batch_norm", {x, sketch.fill({kUnitColumns}, 1), sketch.fill({kUnitColumns}, 0)}, {y, mean, var})
      .name("normalized")
      .attr_i64("group", 0);
  sketch.builder.result(mean);
  sketch.builder.result(y, TENON_MODE_LAST, 0, TENON_SPLIT);
  if (decomposes(s, r.device, *sketch.builder.build().graph())) return;
  const Floats values = by_unit(r, n);
  const Buffer &in = r.make({kUnitRows * r.units(), kUnitColumns}, TENON_SPLIT, values),
               &means = r.make({kUnitColumns}, TENON_REPLICATED),
               &out = r.make({kUnitRows * r.units(), kUnitColumns}, TENON_SPLIT);
  try {
    r.run(sketch, {{&in}, {&means, &out}});
  } catch (const Unsupported& u) {
    fail("supports takes batch_norm of several units, and compile does not: " + u.reason);
  }
  const Floats found_means = r.get(means), found = r.get(out);
  for (int64_t j = 0; j < kUnitColumns; ++j) {
    double sum = 0, squares = 0;
    const int64_t count = kUnitRows * r.units();
    for (int64_t i = 0; i < count; ++i) sum += values[static_cast<size_t>(i * kUnitColumns + j)];
    const double middle = sum / static_cast<double>(count);
    for (int64_t i = 0; i < count; ++i)
      squares += std::pow(values[static_cast<size_t>(i * kUnitColumns + j)] - middle, 2);
    const double deviation = std::sqrt(squares / static_cast<double>(count) + 0.001);
    const auto near = [&](double is, double expected, const std::string& what) {
      expect(std::fabs(is - expected) <= 1e-4 * (1 + std::fabs(expected)),
             what + " of column " + std::to_string(j) + " is " + std::to_string(is) + ", expected " +
                 std::to_string(expected));
    };
    near(found_means[static_cast<size_t>(j)], middle, "the mean over all units");
    for (int64_t i = 0; i < count; ++i) {
      const size_t e = static_cast<size_t>(i * kUnitColumns + j);
      near(found[e], (values[e] - middle) / deviation, "row " + std::to_string(i));
    }
  }
}

}  // namespace

void add_collective_tests(Tests& tests) {
  const auto add = [&](const char* group, const char* name, std::function<void(Subject&)> run) {
    add_test(tests, "collectives", group, name, std::move(run), 4);
  };
  add_dealt_unit_tests(tests);
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
  add_drawing_unit_tests(tests);
  add_refused_collective_tests(tests);
}

}  // namespace tenon::conformance
