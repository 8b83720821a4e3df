// Programs: scalars and results of each iteration, constants, runs that a result ends.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "conformance/suites/machine.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

// ---- run-time scalars ----

void takes_scalars_of_each_iteration(Subject& s) {
  const int64_t n = 9;
  Sketch sketch;
  const uint32_t x = sketch.state(TENON_F32, {n}), k = sketch.scalar(TENON_F32);
  sketch.builder.result(sketch.mul(x, k, {n}), TENON_MODE_EACH);
  Machine m(s, sketch, 5);
  const Buffer &input = m.make({n}, ramp(n)), &rows = m.make({5, n}, {});
  for (int run = 0; run < 3; ++run) {
    Arguments arguments{{&input}, {&rows}, {}, {}, 5};
    Floats expected;
    for (int i = 0; i < 5; ++i) {
      const float scalar = static_cast<float>((run * 5 + i) * (i % 2 ? -3 : 2));
      arguments.scalars.push_back(Arguments::f64(scalar));
      const Floats row = ramp(n, 0, scalar);
      expected.insert(expected.end(), row.begin(), row.end());
    }
    m.run(arguments);
    expect_equal(m.get(rows), expected, "rows times the scalar of their iteration" + after_run(run + 1));
  }
}

void takes_scalars_of(Subject& s, int32_t dtype) {
  Sketch sketch;
  const uint32_t k = sketch.scalar(dtype);
  uint32_t as_float = k;
  if (dtype != TENON_F32) {
    as_float = sketch.node("cast", {k}, TENON_F32, {});
    sketch.builder.attr_dtype("to", TENON_F32);
  }
  sketch.builder.result(sketch.mul(as_float, sketch.fill({3}, 2), {3}), TENON_MODE_EACH);
  Machine m(s, sketch, 4);
  const Buffer& rows = m.make({4, 3}, {});
  const bool is_unsigned = dtype == TENON_U8 || dtype == TENON_BOOL;
  const Floats values = dtype == TENON_BOOL ? Floats{1, 0, 1, 0} : Floats{5, 0, is_unsigned ? 9.0f : -9.0f, 100};
  Arguments arguments{{}, {&rows}, {}, {}, 4};
  Floats expected;
  for (float value : values) {
    arguments.scalars.push_back(plugin::is_float(dtype) ? Arguments::f64(value)
                                                        : Arguments::i64(static_cast<int64_t>(value)));
    expected.insert(expected.end(), 3, 2 * value);
  }
  m.run(arguments);
  expect_equal(m.get(rows), expected, "rows of twice the scalar");
}

// Scalars stand among inputs that are none; r = a x + b y + c.
void takes_scalars_among_buffers(Subject& s) {
  const int64_t n = 21;
  Sketch sketch;
  const uint32_t a = sketch.scalar(TENON_F32), x = sketch.state(TENON_F32, {n}), b = sketch.scalar(TENON_F32),
                 y = sketch.feed(TENON_F32, {n}), c = sketch.scalar(TENON_F32);
  sketch.builder.result(sketch.add(sketch.add(sketch.mul(x, a, {n}), sketch.mul(y, b, {n}), {n}), c, {n}),
                        TENON_MODE_EACH);
  Machine m(s, sketch, 2);
  const Buffer &xs = m.make({n}, ramp(n)), &ys = m.make({n}, filled(n, 10)), &rows = m.make({2, n}, {});
  Arguments arguments{{&xs, &ys}, {&rows}, {}, {}, 2};
  for (double value : {2.0, 3.0, 4.0, 5.0, 6.0, 7.0}) arguments.scalars.push_back(Arguments::f64(value));
  m.run(arguments);
  Floats expected = ramp(n, 34, 2);
  const Floats second = ramp(n, 67, 5);
  expected.insert(expected.end(), second.begin(), second.end());
  expect_equal(m.get(rows), expected, "a x + b y + c");
}

// ---- results ----

void writes_rows_of_each_iteration(Subject& s) {
  const int64_t n = 6;
  Sketch sketch;
  const uint32_t state = sketch.state(TENON_F32, {n});
  const uint32_t updated = sketch.add(state, sketch.fill({n}, 10), {n});
  sketch.builder.result(updated, TENON_MODE_LAST, 1);
  sketch.builder.result(sketch.mul(state, sketch.fill({n}, 2), {n}), TENON_MODE_EACH);
  sketch.builder.result(sketch.mul(state, sketch.fill({n}, 3), {n}), TENON_MODE_LAST);
  Machine m(s, sketch, 5);
  const Buffer &x = m.make({n}, ramp(n)), &rows = m.make({5, n}, filled(5 * n, -1)), &last = m.make({n}, {});
  m.run({{&x}, {&x, &rows, &last}, {}, {}, 3});
  Floats expected = filled(5 * n, -1);
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < n; ++j) expected[static_cast<size_t>(i * n + j)] = static_cast<float>(2 * (j + 10 * i));
  expect_equal(m.get(rows), expected, "rows of 3 of 5 iterations, and those behind them");
  expect_equal(m.get(last), ramp(n, 60, 3), "the last iteration's value");
  m.run({{&x}, {&x, &rows, &last}, {}, {}, 5});
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < n; ++j)
      expected[static_cast<size_t>(i * n + j)] = static_cast<float>(2 * (j + 10 * (i + 3)));
  expect_equal(m.get(rows), expected, "rows of all iterations");
  expect_equal(m.get(last), ramp(n, 210, 3), "the last iteration's value in a second run");
}

void writes_rows_of_rank_0(Subject& s) {
  Sketch sketch;
  const uint32_t state = sketch.state(TENON_F32, {});
  sketch.builder.result(sketch.add(state, sketch.fill({}, 1), {}), TENON_MODE_LAST, 1);
  sketch.builder.result(sketch.mul(state, sketch.fill({}, 2), {}), TENON_MODE_EACH);
  Machine m(s, sketch, 100);
  const Buffer &x = m.make({}, {0}), &losses = m.make({100}, {});
  m.run({{&x}, {&x, &losses}, {}, {}, 100});
  expect_equal(m.get(losses), ramp(100, 0, 2), "100 losses");
}

// Ends behind the iteration in which the state, updated, is `limit` or more.
Sketch until_sketch(float limit) {
  Sketch sketch;
  const uint32_t state = sketch.state(TENON_F32, {});
  const uint32_t updated = sketch.add(state, sketch.fill({}, 1), {});
  sketch.builder.result(updated, TENON_MODE_LAST, 1);
  const uint32_t stop = sketch.node("compare", {updated, sketch.fill({}, limit)}, TENON_BOOL, {});
  sketch.builder.attr_enum("kind", TENON_COMPARE_GE);
  sketch.builder.result(stop, TENON_MODE_UNTIL);
  sketch.builder.result(sketch.mul(updated, sketch.fill({}, 2), {}), TENON_MODE_EACH);
  return sketch;
}

void ends_when_until_is_true(Subject& s) {
  Machine m(s, until_sketch(4), 10);
  const Buffer &x = m.make({}, {0}), &rows = m.make({10}, filled(10, -1));
  const Buffer stop(s, s.device(), TENON_BOOL, {});
  const auto run = [&](uint32_t iterations, uint32_t expected_done, float expected_state, bool expected_stop) {
    uint32_t done = 0;
    m.run({{&x}, {&x, &stop, &rows}, {}, {}, iterations}, &done);
    const std::string what = " after a run of " + std::to_string(iterations) + " that ends once the state is 4";
    uint8_t flag = 9;
    m.queue.read(stop, &flag, 1);
    expect(done == expected_done,  // run returns once it is known
           std::to_string(done) + " iterations done, expected " + std::to_string(expected_done) + what);
    expect_equal(m.get(x), {expected_state}, "the state" + what);
    expect(flag == (expected_stop ? 1 : 0), "the UNTIL result is " + std::to_string(flag) + what);
  };
  run(3, 3, 3, false);
  run(10, 1, 4, true);
  write(m.queue, x, {0});
  run(10, 4, 4, true);
  expect_equal(m.get(rows), {2, 4, 6, 8, -1, -1, -1, -1, -1, -1}, "rows of the iterations that were done");
  write(m.queue, x, {-6});
  run(10, 10, 4, true);
}

void gives_inputs_and_constants(Subject& s) {
  const int64_t n = 257;
  Sketch sketch;
  const uint32_t x = sketch.state(TENON_F32, {n}), c = sketch.fill({n}, 6);
  const uint32_t y = sketch.add(x, c, {n});
  for (uint32_t value : {x, c, x, y, y}) sketch.builder.result(value);
  Machine m(s, sketch, 2);
  const Buffer& input = m.make({n}, ramp(n));
  std::vector<const Buffer*> results;
  for (int i = 0; i < 5; ++i) results.push_back(&m.make({n}, {}));
  m.run({{&input}, results, {}, {}, 2});
  for (size_t i : {0u, 2u}) expect_equal(m.get(*results[i]), ramp(n), "result " + std::to_string(i) + ", an input");
  expect_equal(m.get(*results[1]), filled(n, 6), "result 1, a constant");
  for (size_t i : {3u, 4u})
    expect_equal(m.get(*results[i]), ramp(n, 6), "result " + std::to_string(i) + ", the same value twice");
  expect_equal(m.get(input), ramp(n), "the input");
}

// A result that is handed through and one that is computed: large, so that a copy in parts has many.
void gives_large_results(Subject& s) {
  const int64_t n = 5'000'003;
  Sketch sketch;
  const uint32_t x = sketch.state(TENON_F32, {n});
  sketch.builder.result(x);
  const uint32_t y = sketch.add(x, x, {n});
  for (int i = 0; i < 2; ++i) sketch.builder.result(y);
  Machine m(s, sketch);
  Floats values = filled(n, 3);
  for (int64_t i = 0; i < n; i += 977) values[static_cast<size_t>(i)] = static_cast<float>(i % 1000);
  const Buffer& input = m.make({n}, values);
  std::vector<const Buffer*> results;
  for (int i = 0; i < 3; ++i) results.push_back(&m.make({n}, {}));
  m.run({{&input}, results});
  expect_equal(m.get(*results[0]), values, "result 0, an input of 20 MB");
  for (float& v : values) v *= 2;
  for (size_t i : {1u, 2u}) expect_equal(m.get(*results[i]), values, "result " + std::to_string(i) + " of 20 MB");
}

// An operand of rank 0 serves every element, though nobody reads it later and it is as large as the result or larger.
void serves_every_element(Subject& s, int32_t dtype, int64_t n) {
  const uint64_t width = static_cast<uint64_t>(plugin::dtype_bytes(dtype));
  Sketch sketch;
  const uint32_t one = sketch.state(dtype, {}), x = sketch.state(dtype, {n});
  const uint32_t sum = sketch.node("add", {one, one}, dtype, {});
  const uint32_t less = sketch.node("compare", {sum, x}, TENON_BOOL, {n});
  sketch.builder.attr_enum("kind", TENON_COMPARE_LT);
  sketch.builder.result(less);
  const Program program = compile(s, sketch.builder.build());
  Queue queue(s, s.device());
  const Buffer a(s, s.device(), dtype, {}), b(s, s.device(), dtype, {n}), r(s, s.device(), TENON_BOOL, {n});
  reference::Tensor one_value = reference::zeros(dtype, {}), values = reference::zeros(dtype, {n});
  const auto set = [&](reference::Tensor& to, int64_t i, int64_t v) {
    if (plugin::is_float(dtype))
      to.f[static_cast<size_t>(i)] = static_cast<double>(v);
    else
      to.i[static_cast<size_t>(i)] = v;
  };
  set(one_value, 0, 2);
  for (int64_t i = 0; i < n; ++i) set(values, i, i % 2 ? 9 : -9);
  queue.write(a, one_value);
  queue.write(b, values);
  run_now(queue, program, {{&a, &b}, {&r}});
  const reference::Tensor found = queue.read(r);
  for (int64_t i = 0; i < n; ++i)
    expect(found.i[static_cast<size_t>(i)] == i % 2, "4 < " + std::string(i % 2 ? "9" : "-9") + " at element " +
                                                         std::to_string(i) + " of " + std::to_string(n) + ", of " +
                                                         std::to_string(width) + " bytes: found the contrary");
}

void runs_without_nodes(Subject& s) {
  Sketch sketch;
  sketch.builder.result(sketch.state(TENON_F32, {5}));
  Machine m(s, sketch);
  const Buffer &x = m.make({5}, ramp(5)), &r = m.make({5}, {});
  m.run({{&x}, {&r}});
  expect_equal(m.get(r), ramp(5), "the result of a graph without nodes");
}

// ---- constants ----

void holds_constants(Subject& s, int32_t dtype) {
  const uint64_t width = static_cast<uint64_t>(plugin::dtype_bytes(dtype));
  std::vector<uint8_t> dense(15 * width);
  for (size_t i = 0; i < dense.size(); ++i)
    dense[i] = static_cast<uint8_t>(dtype == TENON_BOOL ? i % 3 == 0 : (i * 37 + 11) % 100);
  Sketch sketch;
  sketch.builder.result(sketch.builder.constant(dtype, {3, 5}, dense.data(), dense.size()));
  sketch.builder.result(sketch.builder.constant(dtype, {3, 5}, dense.data(), width));
  sketch.builder.result(sketch.builder.constant(dtype, {}, dense.data() + width, width));
  const Program program = compile(s, sketch.builder.build());
  Queue queue(s, s.device());
  const Buffer whole(s, s.device(), dtype, {3, 5}), splat(s, s.device(), dtype, {3, 5}), one(s, s.device(), dtype, {});
  run_now(queue, program, {{}, {&whole, &splat, &one}});
  std::vector<uint8_t> found(dense.size());
  queue.read(whole, found.data(), found.size());
  expect(found == dense, "a dense constant is not what the graph says");
  queue.read(splat, found.data(), found.size());
  for (size_t i = 0; i < found.size(); ++i)
    expect(found[i] == dense[i % width],
           "a constant of one element does not fill its shape, at byte " + std::to_string(i));
  queue.read(one, found.data(), width);
  expect(std::memcmp(found.data(), dense.data() + width, width) == 0,
         "a constant of rank 0 is not what the graph says");
}

}  // namespace

void add_program_tests(Tests& tests) {
  const auto add = [&](const char* group, const std::string& name, std::function<void(Subject&)> run,
                       int level = 1) -> Test& {
    return add_test(tests, "program", group, name, std::move(run), level);
  };
  add_state_tests(tests);
  add("scalar", "of each iteration", takes_scalars_of_each_iteration);
  add("scalar", "among buffers", takes_scalars_among_buffers);
  for (int32_t dtype : {TENON_F32, TENON_I32, TENON_I64, TENON_F64, TENON_BOOL, TENON_U8, TENON_BF16, TENON_F16})
    add("scalar", std::string("of ") + plugin::dtype_name(dtype), [dtype](Subject& s) {
      takes_scalars_of(s, dtype);
    }).required = dtype == TENON_F32 || dtype == TENON_I32 || dtype == TENON_I64;
  add_scalar_tests(tests);
  add("result", "rows of each iteration", writes_rows_of_each_iteration);
  add("result", "100 losses", writes_rows_of_rank_0);
  add("result", "inputs, constants, one value twice", gives_inputs_and_constants);
  add("result", "of 20 MB", gives_large_results).size = 5e6;
  add("result", "of a graph without nodes", runs_without_nodes);
  for (int32_t dtype : {TENON_F32, TENON_I32, TENON_I64, TENON_F64})
    for (int64_t n : {2, 3, 4, 5, 7, 8, 9, 63}) {
      const std::string what = std::string(plugin::dtype_name(dtype)) + " and " + std::to_string(n) + " elements";
      add("rank 0", what, [=](Subject& s) { serves_every_element(s, dtype, n); }).required = dtype != TENON_F64;
    }
  add_info_tests(tests);
  add_cache_tests(tests);
  add_description_tests(tests);
  add_beside_tests(tests);
  add("until", "ends the run", ends_when_until_is_true).required = false;
  for (int32_t dtype : {TENON_F32, TENON_I32, TENON_I64, TENON_BOOL, TENON_F64, TENON_BF16, TENON_F16, TENON_U8})
    add("constant", plugin::dtype_name(dtype), [dtype](Subject& s) { holds_constants(s, dtype); }).required =
        dtype == TENON_F32 || dtype == TENON_I32 || dtype == TENON_I64 || dtype == TENON_BOOL;
  add_argument_tests(tests);
}

}  // namespace tenon::conformance
