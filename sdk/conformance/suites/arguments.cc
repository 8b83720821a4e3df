// Arguments of runs: sets of buffers that change, programs that share them, and what is refused.
#include <memory>
#include <optional>

#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

constexpr int64_t kN = 19;

// ---- sharing ----

plugin::FlatGraph update_graph(const char* op, float by) {
  Sketch sketch;
  const uint32_t state = sketch.state(TENON_F32, {kN});
  sketch.builder.result(sketch.node(op, {state, sketch.fill({kN}, by)}, TENON_F32, {kN}), TENON_MODE_LAST, 1);
  return sketch.builder.build();
}

void programs_share_a_state(Subject& s) {
  Queue queue(s, s.device());
  const Program adds = compile(s, update_graph("add", 3), 4), doubles = compile(s, update_graph("mul", 2), 4);
  const Buffer state = f32_buffer(s, {kN});
  write(queue, state, ramp(kN));
  float first = 0, step = 1;
  for (uint32_t i = 1; i <= 4; ++i) {
    queue.submit(Arguments{{&state}, {&state}, {}, {}, i}.run(adds));
    first += 3 * static_cast<float>(i);
    run_now(queue, doubles, {{&state}, {&state}});
    first *= 2, step *= 2;
    expect_equal(read(queue, state), ramp(kN, first, step),
                 "a state that two programs update, in round " + std::to_string(i));
  }
}

// One program's result is the next one's input, all submitted without a wait.
void results_become_inputs(Subject& s) {
  Queue queue(s, s.device());
  const Program sum = compile(s, sum_graph(kN));
  const Buffer a = f32_buffer(s, {kN}), b = f32_buffer(s, {kN}), c = f32_buffer(s, {kN}), d = f32_buffer(s, {kN});
  write(queue, a, ramp(kN));
  write(queue, b, filled(kN, 1));
  queue.submit(Arguments{{&a, &b}, {&c}}.run(sum));
  queue.submit(Arguments{{&c, &c}, {&d}}.run(sum));
  run_now(queue, sum, {{&d, &c}, {&a}});
  expect_equal(read(queue, a), ramp(kN, 3, 3), "a chain of three runs");
}

// A backend may keep what it recorded for a set of handles, but buffer_free ends a handle.
void argument_sets_change(Subject& s) {
  Queue queue(s, s.device());
  const Program sum = compile(s, sum_graph(kN));
  std::vector<std::optional<Buffer>> buffers(6);
  for (int round = 0; round < 12; ++round) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (round % 3 == 0) buffers[i].reset();
      if (!buffers[i]) buffers[i].emplace(f32_buffer(s, {kN}));
    }
    for (size_t set = 0; set < 4; ++set) {
      const Buffer &a = *buffers[set], &b = *buffers[(set + 1) % 6], &r = *buffers[(set + 2) % 6];
      write(queue, a, ramp(kN, static_cast<float>(round)));
      write(queue, b, filled(kN, static_cast<float>(10 * set)));
      queue.write_rubbish(r);
      run_now(queue, sum, {{&a, &b}, {&r}});
      expect_equal(read(queue, r), ramp(kN, static_cast<float>(round) + static_cast<float>(10 * set)),
                   "argument set " + std::to_string(set) + " in round " + std::to_string(round));
    }
  }
}

void compiles_a_graph_twice(Subject& s) {
  Queue queue(s, s.device());
  const plugin::FlatGraph graph = counter_graph(kN);
  auto first = std::make_unique<Program>(compile(s, graph)), second = std::make_unique<Program>(compile(s, graph));
  const Buffer a = f32_buffer(s, {kN}), b = f32_buffer(s, {kN});
  write(queue, a, ramp(kN));
  write(queue, b, ramp(kN, 100));
  run_now(queue, *first, {{&a}, {&a}, {Arguments::f64(1)}});
  run_now(queue, *second, {{&b}, {&b}, {Arguments::f64(2)}});
  first.reset();
  run_now(queue, *second, {{&a}, {&a}, {Arguments::f64(5)}});
  expect_equal(read(queue, a), ramp(kN, 6), "a state of both programs");
  expect_equal(read(queue, b), ramp(kN, 102), "a state of the second program");
}

void buffers_outlive_programs(Subject& s) {
  Queue queue(s, s.device());
  const Buffer state = f32_buffer(s, {kN});
  write(queue, state, ramp(kN));
  for (int i = 1; i <= 5; ++i) {
    {
      const Program program = compile(s, counter_graph(kN));
      run_now(queue, program, {{&state}, {&state}, {Arguments::f64(1)}});
    }
    expect_equal(read(queue, state), ramp(kN, static_cast<float>(i)), "the state once its program was destroyed");
  }
}

// The scalars and arrays of a run are the caller's again once run returns.
void keeps_no_argument(Subject& s) {
  Queue queue(s, s.device());
  const Program program = compile(s, counter_graph(kN), 8);
  const Buffer state = f32_buffer(s, {kN});
  write(queue, state, ramp(kN));
  float total = 0;
  for (int round = 0; round < 20; ++round) {
    Arguments arguments{{&state}, {&state}, std::vector<tenon_scalar>(8, Arguments::f64(round)), {}, 8};
    tenon_run run = arguments.run(program);
    queue.submit(run);
    total += 8 * static_cast<float>(round);
    for (tenon_scalar& scalar : arguments.scalars) scalar.f64 = -1e6;
    arguments.input_handles.assign(1, nullptr);
    arguments.result_handles.assign(1, nullptr);
  }
  expect_equal(read(queue, state), ramp(kN, total),
               "the state after runs whose arguments were overwritten behind them");
}

// ---- what is refused ----

// The run is refused and says so: no iteration was done, whatever *done was before.
void expect_refused(Subject& s, const Queue& queue, const tenon_run& run, const std::string& what) {
  uint64_t ticket = 0;
  uint32_t done = 77;
  doing(what);
  expect_code(s.backend().run(queue.handle(), &run, &ticket, &done), TENON_INVALID, what);
  expect(done == 0, what + " is refused, and *done says " + std::to_string(done) + ", expected 0");
}

// s' = s + k, r = s' of each iteration, at most 3.
struct Refusals {
  explicit Refusals(Subject& subject)
      : s(subject),
        queue(s, s.device()),
        program(compile(s, graph(), 3)),
        state(f32_buffer(s, {kN})),
        batch(f32_buffer(s, {kN})),
        rows(f32_buffer(s, {3, kN})),
        small(f32_buffer(s, {kN - 1})) {
    write(queue, state, ramp(kN));
    write(queue, batch, filled(kN, 1));
    write(queue, rows, filled(3 * kN, -1));
    write(queue, small, filled(kN - 1, -2));
    good = {{&state, &batch}, {&state, &rows}, std::vector<tenon_scalar>(3, Arguments::f64(1)), {}, 3};
  }

  static plugin::FlatGraph graph() {
    Sketch sketch;
    const uint32_t state = sketch.state(TENON_F32, {kN}), batch = sketch.feed(TENON_F32, {kN}),
                   k = sketch.scalar(TENON_F32);
    const uint32_t updated = sketch.add(sketch.add(state, batch, {kN}), k, {kN});
    sketch.builder.result(updated, TENON_MODE_LAST, 1);
    sketch.builder.result(updated, TENON_MODE_EACH);
    return sketch.builder.build();
  }

  // Nothing happened, and the queue works.
  void refused(const tenon_run& run, const std::string& what) {
    expect_refused(s, queue, run, "run " + what);
    expect_equal(read(queue, state), ramp(kN, total), "the state after run was refused " + what);
    expect_equal(read(queue, rows), expected_rows(), "the rows after run was refused " + what);
    expect_equal(read(queue, small), filled(kN - 1, -2), "another buffer after run was refused " + what);
    run_now(queue, program, good);
    total += 6;
    expect_equal(read(queue, state), ramp(kN, total), "the state of a good run after one " + what);
  }
  void refused(const Arguments& arguments, const std::string& what) {
    Arguments copy = arguments;
    refused(copy.run(program), what);
  }
  Floats expected_rows() const {
    if (total == 0) return filled(3 * kN, -1);
    Floats out;
    for (float back : {4.0f, 2.0f, 0.0f}) {
      const Floats row = ramp(kN, total - back);
      out.insert(out.end(), row.begin(), row.end());
    }
    return out;
  }

  Subject& s;
  Queue queue;
  Program program;
  Buffer state, batch, rows, small;
  Arguments good;
  float total = 0;
};

void refuses_iterations(Subject& s) {
  Refusals r(s);
  Arguments arguments = r.good;
  arguments.iterations = 0;
  r.refused(arguments, "of 0 iterations");
  arguments.iterations = 4;
  arguments.scalars.resize(4);
  r.refused(arguments, "of 4 iterations where 3 are the most");
  tenon_run run = r.good.run(r.program);
  run.iterations = UINT32_MAX;
  r.refused(run, "of 4294967295 iterations");
}

// Where nothing else is wrong.
void refuses_iterations_alone(Subject& s) {
  Queue queue(s, s.device());
  const Program program = compile(s, counter_graph(kN), 3);
  const Buffer state = f32_buffer(s, {kN});
  write(queue, state, ramp(kN));
  for (uint32_t iterations : {0u, 4u, 100u}) {
    Arguments arguments{{&state}, {&state}, std::vector<tenon_scalar>(100, Arguments::f64(1)), {}, iterations};
    const std::string what = "run of " + std::to_string(iterations) + " iterations where 3 are the most";
    expect_refused(s, queue, arguments.run(program), what);
    expect_equal(read(queue, state), ramp(kN), "the state after a " + what);
  }
}

void refuses_missing_arguments(Subject& s) {
  Refusals r(s);
  tenon_run run = r.good.run(r.program);
  run.program = nullptr;
  r.refused(run, "without a program");
  run = r.good.run(r.program);
  run.inputs = nullptr;
  r.refused(run, "without inputs");
  run = r.good.run(r.program);
  run.results = nullptr;
  r.refused(run, "without results");
  run = r.good.run(r.program);
  run.scalars = nullptr;
  r.refused(run, "without scalars");
  for (size_t i = 0; i < 2; ++i) {
    Arguments arguments = r.good;
    arguments.inputs[i] = nullptr;
    r.refused(arguments, "whose input " + std::to_string(i) + " is NULL");
    arguments = r.good;
    arguments.results[i] = nullptr;
    r.refused(arguments, "whose result " + std::to_string(i) + " is NULL");
  }
}

void refuses_small_buffers(Subject& s) {
  Refusals r(s);
  Arguments arguments = r.good;
  arguments.inputs[1] = &r.small;
  r.refused(arguments, "whose batch is too small");
  arguments = r.good;
  arguments.inputs[0] = arguments.results[0] = &r.small;
  r.refused(arguments, "whose state is too small");
  arguments = r.good;
  arguments.results[1] = &r.state;
  r.refused(arguments, "whose rows do not fit");
  const Buffer two_rows = f32_buffer(s, {2, kN});
  arguments.results[1] = &two_rows;
  r.refused(arguments, "with 2 rows for 3 iterations");
}

// A result that nothing else sizes: no rows, no alias.
void refuses_a_small_result(Subject& s) {
  const Program program = compile(s, sum_graph(kN));
  const Buffer a = f32_buffer(s, {kN}), b = f32_buffer(s, {kN}), small = f32_buffer(s, {kN - 1});
  Queue queue(s, s.device());
  write(queue, a, ramp(kN));
  write(queue, b, filled(kN, 1));
  write(queue, small, filled(kN - 1, -2));
  Arguments arguments{{&a, &b}, {&small}};
  expect_refused(s, queue, arguments.run(program), "run whose result is too small");
  expect_equal(read(queue, small), filled(kN - 1, -2), "a result that is too small after run was refused");
}

// By one byte: of bools, which have no more.
void refuses_a_byte_too_few(Subject& s) {
  Sketch sketch;
  sketch.builder.result(sketch.state(TENON_BOOL, {kN}));
  const Program program = compile(s, sketch.builder.build());
  const Buffer whole(s, s.device(), TENON_BOOL, {kN}), result(s, s.device(), TENON_BOOL, {kN}),
      small(s, s.device(), TENON_BOOL, {kN - 1});
  Queue queue(s, s.device());
  Arguments from{{&small}, {&result}}, to{{&whole}, {&small}};
  expect_refused(s, queue, from.run(program), "run whose input is a byte too small");
  expect_refused(s, queue, to.run(program), "run whose result is a byte too small");
}

void refuses_a_lost_alias(Subject& s) {
  Refusals r(s);
  const Buffer other = f32_buffer(s, {kN});
  Arguments arguments = r.good;
  arguments.results[0] = &other;
  r.refused(arguments, "whose aliased result is another buffer than its input");
}

}  // namespace

void add_argument_tests(Tests& tests) {
  const auto add = [&](const char* group, const char* name, void (*run)(Subject&)) {
    add_test(tests, "program", group, name, run, 1);
  };
  add("sharing", "two programs update one state", programs_share_a_state);
  add("sharing", "results become inputs", results_become_inputs);
  add("sharing", "argument sets change", argument_sets_change);
  add("sharing", "one graph compiled twice", compiles_a_graph_twice);
  add("sharing", "buffers outlive programs", buffers_outlive_programs);
  add("sharing", "arguments are borrowed for the call", keeps_no_argument);
  add("refused", "iterations", refuses_iterations);
  add("refused", "iterations of a counter", refuses_iterations_alone);
  add("refused", "missing arguments", refuses_missing_arguments);
  add("refused", "small buffers", refuses_small_buffers);
  add("refused", "a small result", refuses_a_small_result);
  add("refused", "a byte too few", refuses_a_byte_too_few);
  add("refused", "a lost alias", refuses_a_lost_alias);
}

}  // namespace tenon::conformance
