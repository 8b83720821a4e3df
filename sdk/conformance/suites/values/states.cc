// States: updated in place, while what reads them sees the old value.
#include <algorithm>
#include <cstring>

#include "conformance/suites/machine.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

void updates_in_place(Subject& s, int64_t n) {
  Sketch sketch;
  const uint32_t state = sketch.state(TENON_F32, {n});
  sketch.builder.result(sketch.add(sketch.add(state, sketch.fill({n}, 1), {n}), sketch.fill({n}, 2), {n}),
                        TENON_MODE_LAST, 1);
  Machine m(s, sketch, 9);
  const Buffer& state_buffer = m.make({n}, ramp(n));
  float total = 0;
  int run = 0;
  for (uint32_t iterations : {1u, 9u, 1u, 4u, 9u}) {
    uint32_t done = 0;
    m.run({{&state_buffer}, {&state_buffer}, {}, {}, iterations}, &done);
    expect(done == iterations,
           "run: " + std::to_string(done) + " iterations done, expected " + std::to_string(iterations));
    expect_equal(m.get(state_buffer), ramp(n, total += 3 * static_cast<float>(iterations)),
                 "the state" + after_run(++run));
  }
}

// `reader_first`: in which order the nodes stand that update and read the state.
void readers_see_the_old_value(Subject& s, bool reader_first, int64_t n) {
  Sketch sketch;
  const uint32_t state = sketch.state(TENON_F32, {n});
  uint32_t updated = 0, read = 0;
  for (bool reader : {reader_first, !reader_first}) {
    if (reader)
      read = sketch.mul(state, sketch.fill({n}, 2), {n});
    else
      updated = sketch.add(state, sketch.fill({n}, 1), {n});
  }
  sketch.builder.result(updated, TENON_MODE_LAST, 1);
  sketch.builder.result(sketch.add(read, state, {n}));
  Machine m(s, sketch, 6);
  const Buffer &state_buffer = m.make({n}, ramp(n)), &seen = m.make({n}, {});
  float done = 0;
  for (uint32_t iterations : {1u, 6u, 2u}) {
    m.run({{&state_buffer}, {&state_buffer, &seen}, {}, {}, iterations});
    done += static_cast<float>(iterations);
    expect_equal(m.get(seen), ramp(n, 3 * (done - 1), 3), "3 times the old value of the last iteration");
    expect_equal(m.get(state_buffer), ramp(n, done), "the state");
  }
}

void states_swap(Subject& s) {
  Sketch sketch;
  const uint32_t a = sketch.state(TENON_F32, {301}), b = sketch.state(TENON_F32, {301});
  sketch.builder.result(b, TENON_MODE_LAST, 1);
  sketch.builder.result(a, TENON_MODE_LAST, 2);
  Machine m(s, sketch, 5);
  const Buffer &x = m.make({301}, ramp(301)), &y = m.make({301}, ramp(301, 1000));
  uint32_t swaps = 0;
  for (uint32_t iterations : {1u, 2u, 5u}) {
    m.run({{&x, &y}, {&x, &y}, {}, {}, iterations});
    swaps += iterations;
    expect_equal(m.get(x), ramp(301, swaps % 2 ? 1000 : 0), "the first of two states that swap");
    expect_equal(m.get(y), ramp(301, swaps % 2 ? 0 : 1000), "the second of two states that swap");
  }
}

// a' = a + b, b' = b - a, both of the old values.
void states_read_each_other(Subject& s) {
  const int64_t n = 40000;
  Sketch sketch;
  const uint32_t a = sketch.state(TENON_F32, {n}), b = sketch.state(TENON_F32, {n});
  const uint32_t sum = sketch.add(a, b, {n}), difference = sketch.node("sub", {b, a}, TENON_F32, {n});
  sketch.builder.result(sum, TENON_MODE_LAST, 1);
  sketch.builder.result(difference, TENON_MODE_LAST, 2);
  Machine m(s, sketch, 7);
  Floats va = ramp(n, 0, 1), vb = ramp(n, 5, 2);
  const Buffer &x = m.make({n}, va), &y = m.make({n}, vb);
  m.run({{&x, &y}, {&x, &y}, {}, {}, 7});
  for (int k = 0; k < 7; ++k)
    for (size_t i = 0; i < va.size(); ++i) {
      const float old = va[i];
      va[i] += vb[i];
      vb[i] -= old;
    }
  expect_equal(m.get(x), va, "a of a' = a + b");
  expect_equal(m.get(y), vb, "b of b' = b - a");
}

// s' = op(s) + 1 where op moves elements, which cannot be done in place.
// s' = the old s moved, and 1 more where `adds`.
void moves_its_state(Subject& s, const char* op, int64_t n, bool adds) {
  Sketch sketch;
  const uint32_t state = sketch.state(TENON_F32, {n, n});
  const uint32_t moved = sketch.node(op, {state}, TENON_F32, {n, n});
  const bool transposes = std::string(op) == "transpose";
  if (transposes)
    sketch.builder.attr_list("perm", {1, 0});
  else
    sketch.builder.attr_list("axes", {0});
  sketch.builder.result(adds ? sketch.add(moved, sketch.fill({n, n}, 1), {n, n}) : moved, TENON_MODE_LAST, 1);
  Machine m(s, sketch, 5);
  Floats values = ramp(n * n);
  const Buffer& state_buffer = m.make({n, n}, values);
  for (uint32_t iterations : {1u, 5u, 2u}) {
    m.run({{&state_buffer}, {&state_buffer}, {}, {}, iterations});
    for (uint32_t k = 0; k < iterations; ++k) {
      const Floats old = values;
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const int64_t from = transposes ? j * n + i : (n - 1 - i) * n + j;
          values[static_cast<size_t>(i * n + j)] = old[static_cast<size_t>(from)] + (adds ? 1 : 0);
        }
    }
    expect_equal(m.get(state_buffer), values, std::string("a state that is updated by ") + op);
  }
}

// total' = total + sum of s, s' = s + total: the old total.
void sums_its_state(Subject& s) {
  const int64_t n = 100;
  Sketch sketch;
  const uint32_t state = sketch.state(TENON_F32, {n}), total = sketch.state(TENON_F32, {});
  const uint32_t moved = sketch.add(state, total, {n});
  const uint32_t sum = sketch.node("reduce", {state}, TENON_F32, {});
  sketch.builder.attr_list("axes", {0}).attr_enum("kind", TENON_REDUCE_SUM);
  sketch.builder.result(moved, TENON_MODE_LAST, 1);
  sketch.builder.result(sketch.add(total, sum, {}), TENON_MODE_LAST, 2);
  Machine m(s, sketch, 3);
  const Buffer &x = m.make({n}, filled(n, 1)), &t = m.make({}, {2});
  m.run({{&x, &t}, {&x, &t}, {}, {}, 3});
  float state_value = 1, total_value = 2;
  for (int k = 0; k < 3; ++k) {
    const float old = total_value;
    total_value += static_cast<float>(n) * state_value;
    state_value += old;
  }
  expect_equal(m.get(x), filled(n, state_value), "s of s' = s + total");
  expect_equal(m.get(t), {total_value}, "total of total' = total + sum s");
}

// Inputs that no result aliases, and a state that is handed through.
void leaves_inputs_alone(Subject& s) {
  const int64_t n = 20000;
  Sketch sketch;
  const uint32_t a = sketch.state(TENON_F32, {n}), b = sketch.feed(TENON_F32, {n}), kept = sketch.state(TENON_F32, {n});
  sketch.builder.result(sketch.add(sketch.mul(a, b, {n}), a, {n}));
  sketch.builder.result(kept, TENON_MODE_LAST, 3);
  Machine m(s, sketch, 4);
  const Buffer &x = m.make({n}, ramp(n)), &y = m.make({n}, filled(n, 3)), &k = m.make({n}, ramp(n, 7)),
               &r = m.make({n}, {});
  m.run({{&x, &y, &k}, {&r, &k}, {}, {}, 4});
  expect_equal(m.get(r), ramp(n, 0, 4), "the result");
  expect_equal(m.get(x), ramp(n), "a state that nothing updates");
  expect_equal(m.get(y), filled(n, 3), "the batch");
  expect_equal(m.get(k), ramp(n, 7), "a state that is handed through");
}

// The new state is also a result of its own.
void gives_the_new_state_twice(Subject& s) {
  const int64_t n = 333;
  Sketch sketch;
  const uint32_t state = sketch.state(TENON_F32, {n});
  const uint32_t updated = sketch.add(state, sketch.fill({n}, 1), {n});
  sketch.builder.result(updated);
  sketch.builder.result(updated, TENON_MODE_LAST, 1);
  sketch.builder.result(updated, TENON_MODE_EACH);
  Machine m(s, sketch, 3);
  const Buffer &x = m.make({n}, ramp(n)), &r = m.make({n}, {}), &rows = m.make({3, n}, {});
  m.run({{&x}, {&r, &x, &rows}, {}, {}, 3});
  expect_equal(m.get(x), ramp(n, 3), "the state");
  expect_equal(m.get(r), ramp(n, 3), "the same value as a result");
  Floats expected = ramp(n, 1);
  for (float first : {2.0f, 3.0f}) {
    const Floats row = ramp(n, first);
    expected.insert(expected.end(), row.begin(), row.end());
  }
  expect_equal(m.get(rows), expected, "the same value of each iteration");
}

}  // namespace

void add_state_tests(Tests& tests) {
  const auto add = [&](const char* group, const std::string& name, std::function<void(Subject&)> run) -> Test& {
    return add_test(tests, "program", group, name, std::move(run), 1);
  };
  for (int64_t n : {1, 7, 1001, 70000}) {
    const std::string shape = "f32[" + std::to_string(n) + "]";
    add("state", shape + " is updated in place", [n](Subject& s) { updates_in_place(s, n); }).size =
        static_cast<double>(n);
    add("old value", shape + " for a reader before the update", [n](Subject& s) {
      readers_see_the_old_value(s, true, n);
    }).size = static_cast<double>(n);
    add("old value", shape + " for a reader after the update", [n](Subject& s) {
      readers_see_the_old_value(s, false, n);
    }).size = static_cast<double>(n);
  }
  add("old value", "two states swap", states_swap).size = 602;
  add("old value", "two states read each other", states_read_each_other).size = 80000;
  add("old value", "a sum beside its state", sums_its_state).size = 101;
  for (int64_t n : {3, 37, 130})
    for (const char* op : {"transpose", "reverse"})
      for (bool adds : {false, true}) {
        const std::string shape = "f32[" + std::to_string(n) + "," + std::to_string(n) + "]";
        const auto test = [=](Subject& s) { moves_its_state(s, op, n, adds); };
        add("old value", op + (" of " + shape) + (adds ? ", and 1" : ""), test).size = static_cast<double>(n * n);
      }
  add("state", "inputs are left alone", leaves_inputs_alone);
  add("state", "is a result too", gives_the_new_state_twice);
}

}  // namespace tenon::conformance
