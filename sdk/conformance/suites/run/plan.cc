// What the planner of the SDK's runtime takes for graphs drawn by hand: for backends that stand on it (--sdk-runtime).
//
// A planner of another kind may take more, and what it takes is its own affair.
#include <algorithm>
#include <cstring>

#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

constexpr int64_t kWide = 64;
constexpr uint64_t kWideBytes = 4 * kWide;
const Dims kWideVector{kWide};

// Graphs of f32, in nodes of which most are no maps, so that nothing is computed in place or in one go.
class PlanSketch : public Sketch {
 public:
  uint32_t state(const Dims& dims = kWideVector) { return Sketch::state(TENON_F32, dims); }
  uint32_t neg(uint32_t x, const Dims& dims = kWideVector) { return node("neg", {x}, TENON_F32, dims); }
  uint32_t add(uint32_t a, uint32_t b, const Dims& dims = kWideVector) { return Sketch::add(a, b, dims); }
  uint32_t reverse(uint32_t x, const Dims& dims = kWideVector) {
    const uint32_t y = node("reverse", {x}, TENON_F32, dims);
    builder.attr_list("axes", {0});
    return y;
  }
  // [n] n times over: [times, n].
  uint32_t repeat(uint32_t x, int64_t times) {
    const uint32_t y = node("broadcast", {x}, TENON_F32, {times, kWide});
    builder.attr_list("shape", {times, kWide}).attr_list("dims", {1});
    return y;
  }
  uint32_t reshape(uint32_t x, const Dims& dims) {
    const uint32_t y = node("reshape", {x}, TENON_F32, dims);
    builder.attr_list("shape", dims);
    return y;
  }
  uint32_t slice(uint32_t x, const Dims& start, const Dims& limit) {
    Dims dims;
    for (size_t d = 0; d < start.size(); ++d) dims.push_back(limit[d] - start[d]);
    const uint32_t y = node("slice", {x}, TENON_F32, dims);
    builder.attr_list("start", start).attr_list("limit", limit);
    return y;
  }
  uint32_t join(const std::vector<uint32_t>& parts, const Dims& dims, int64_t axis = 0) {
    const uint32_t y = node("concat", parts, TENON_F32, dims);
    builder.attr_i64("axis", axis);
    return y;
  }
  // Gives the numbers, which alone are read of the two results.
  uint32_t sorted(uint32_t x) {
    const uint32_t y = builder.value(TENON_F32, kWideVector), order = builder.value(TENON_I32, kWideVector);
    builder.node("sort", {x}, {y, order}).name("sort" + std::to_string(y)).attr_i64("k", kWide);
    return y;
  }
};

std::vector<tenon_allocation> allocations_of(const tenon_info& info) {
  std::vector<tenon_allocation> out(info.n_allocations);
  for (uint32_t i = 0; i < info.n_allocations; ++i)
    std::memcpy(&out[i], reinterpret_cast<const uint8_t*>(info.allocations) + i * info.allocation_stride,
                sizeof out[i]);
  return out;
}

bool lie_apart(const tenon_allocation& a, const tenon_allocation& b) {
  const bool at_once = a.first <= b.last && b.first <= a.last;
  return !at_once || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
}

void expect_sound(const tenon_info& info) {
  const std::vector<tenon_allocation> all = allocations_of(info);
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string what = "allocation " + std::to_string(i);
    expect(all[i].offset % 64 == 0, what + " begins at byte " + std::to_string(all[i].offset));
    expect(all[i].offset + all[i].bytes <= info.workspace_bytes, what + " ends beyond the workspace");
    for (size_t k = 0; k < i; ++k)
      expect(lie_apart(all[i], all[k]), what + " lies where " + std::to_string(k) + " does, which is alive");
  }
}

void expect_at_most(Subject& s, const PlanSketch& graph, uint64_t bytes) {
  const Program program = compile(s, graph.builder.build());
  expect_sound(program.info());
  expect(program.info().workspace_bytes <= bytes, "a workspace of " + std::to_string(program.info().workspace_bytes) +
                                                      " bytes, expected at most " + std::to_string(bytes));
}

// ---- in place ----

void chain_in_place(Subject& s) {
  PlanSketch g;
  uint32_t x = g.state();
  for (int i = 0; i < 5; ++i) x = g.neg(x);
  g.builder.result(x);
  expect_at_most(s, g, kWideBytes);
}

// The chain is the second operand, then the first.
void chain_with_others_in_place(Subject& s) {
  PlanSketch g;
  const uint32_t x = g.state(), two = g.fill({}, 2);
  const uint32_t a = g.reverse(x);
  g.builder.result(g.reverse(g.add(g.add(x, a), two)));
  expect_at_most(s, g, kWideBytes);
}

void one_value_twice_in_place(Subject& s) {
  PlanSketch g;
  const uint32_t a = g.reverse(g.state());
  g.builder.result(g.reverse(g.add(a, a)));
  expect_at_most(s, g, kWideBytes);
}

void odd_sizes_in_place(Subject& s, int64_t n, uint64_t bytes) {
  PlanSketch g;
  g.builder.result(g.reverse(g.neg(g.reverse(g.state({n}), {n}), {n}), {n}));
  expect_at_most(s, g, bytes);
}

void state_in_place(Subject& s, const std::function<uint32_t(PlanSketch&, uint32_t state, uint32_t x)>& update) {
  PlanSketch g;
  const uint32_t state = g.state(), x = g.state();
  g.builder.result(update(g, state, x), TENON_MODE_LAST, 1);
  expect_at_most(s, g, 0);
}

void state_in_place_behind_readers(Subject& s) {
  PlanSketch g;
  const uint32_t state = g.state();
  g.builder.result(g.reverse(state));
  g.builder.result(g.neg(state), TENON_MODE_LAST, 1);
  expect_at_most(s, g, 0);
}

// ---- views ----

// The first part is what node 0 makes.
void parts_where_they_are_joined(Subject& s) {
  PlanSketch g;
  const uint32_t x = g.state(), y = g.state();
  g.builder.result(g.join({g.reverse(x), g.neg(y)}, {2 * kWide}));
  expect_at_most(s, g, 0);
}

void parts_of_other_shapes_where_they_are_joined(Subject& s) {
  PlanSketch g;
  const uint32_t x = g.state(), y = g.state({kWide / 2, 2});
  const uint32_t a = g.reshape(g.reshape(g.reverse(x), {2, kWide / 2}), {1, kWide}),
                 b = g.reshape(g.neg(y, {kWide / 2, 2}), {1, kWide});
  g.builder.result(g.reshape(g.join({a, b}, {1, 2 * kWide}, 1), {2, kWide}));
  expect_at_most(s, g, 0);
}

void joins_of_joins(Subject& s) {
  PlanSketch g;
  const uint32_t x = g.state();
  const uint32_t pair = g.join({g.neg(x), g.reverse(x)}, {2 * kWide});
  g.builder.result(g.join({pair, g.neg(x)}, {3 * kWide}));
  expect_at_most(s, g, 0);
}

// Rows of the input of a graph, of a result of a node that is read nowhere else, of a slice.
void rows_where_they_lie(Subject& s) {
  PlanSketch g;
  const uint32_t x = g.state({1, 4, kWide});
  const uint32_t middle = g.slice(x, {0, 1, 0}, {1, 3, kWide});
  const uint32_t first = g.reshape(g.slice(middle, {0, 0, 0}, {1, 1, kWide}), kWideVector),
                 part = g.slice(g.slice(x, {0, 3, 0}, {1, 4, kWide}), {0, 0, kWide / 2}, {1, 1, kWide});
  g.builder.result(g.reverse(first));
  g.builder.result(g.reverse(g.reshape(part, {kWide / 2}), {kWide / 2}));
  expect_at_most(s, g, 0);
}

void rows_of_what_is_made(Subject& s) {
  PlanSketch g;
  const uint32_t all = g.repeat(g.state(), 4);
  const uint32_t row = g.reshape(g.slice(all, {2, 0}, {3, kWide}), kWideVector);
  g.builder.result(g.reverse(row));
  expect_at_most(s, g, 4 * kWideBytes);
}

// ---- room that is shared ----

void room_of_what_was_read(Subject& s) {
  PlanSketch g;
  uint32_t x = g.state();
  for (int i = 0; i < 6; ++i) x = g.reverse(x);
  g.builder.result(x);
  expect_at_most(s, g, 2 * kWideBytes);
}

void room_of_a_small_one_at_last(Subject& s) {
  PlanSketch g;
  const uint32_t x = g.state(), half = g.state({kWide / 2});
  g.builder.result(g.reverse(g.reverse(g.reverse(x))));
  g.builder.result(g.reverse(g.reverse(half, {kWide / 2}), {kWide / 2}));
  expect_at_most(s, g, 2 * kWideBytes);
}

// Small, small, large, and the other way round.
void room_of_different_sizes(Subject& s, bool grows) {
  PlanSketch g;
  const uint32_t x = g.state();
  if (grows) {
    const uint32_t large = g.repeat(g.reverse(g.reverse(x)), 2);
    g.builder.result(g.reverse(large, {2, kWide}));
  } else {
    const uint32_t sums = g.node("reduce", {g.repeat(x, 2)}, TENON_F32, kWideVector);
    g.builder.attr_list("axes", {0}).attr_enum("kind", TENON_REDUCE_SUM);
    g.builder.result(g.reverse(g.reverse(sums)));
  }
  expect_at_most(s, g, 3 * kWideBytes);
}

// What lives throughout lies behind the larger of two that follow each other.
void room_beside_what_lives_throughout(Subject& s) {
  PlanSketch g;
  const uint32_t x = g.state(), half = g.state({kWide / 2});
  const uint32_t throughout = g.reverse(half, {kWide / 2});
  g.builder.result(g.reverse(g.repeat(x, 2), {2, kWide}));
  g.builder.result(g.reverse(g.reverse(x)));
  g.builder.result(g.reverse(throughout, {kWide / 2}));
  expect_at_most(s, g, 2 * kWideBytes + kWideBytes / 2);
}

// Neither scratch nor what nobody reads outlives its node.
void room_of_a_node_alone(Subject& s) {
  const auto workspace = [&](int sorts) {
    PlanSketch g;
    for (int i = 0; i < sorts; ++i) g.builder.result(g.sorted(g.state()));
    return compile(s, g.builder.build()).info().workspace_bytes;
  };
  const uint64_t one = workspace(1), four = workspace(4);
  expect(four <= one, "four nodes of one kind take a workspace of " + std::to_string(four) + " bytes, one of them " +
                          std::to_string(one));
}

void room_of_scalars(Subject& s) {
  PlanSketch g;
  const uint32_t a = g.scalar(TENON_F32), b = g.scalar(TENON_F32);
  g.builder.result(g.add(a, b, {}));
  g.builder.result(a);
  expect_at_most(s, g, 2 * 64);
}

// ---- results ----

// A value that is two results is copied from the one to the other; an input goes through the workspace.
void results_that_are_copied(Subject& s) {
  PlanSketch g;
  const uint32_t x = g.state(), y = g.reverse(x);
  for (const uint32_t value : {y, y, x}) g.builder.result(value);
  expect_at_most(s, g, kWideBytes);
}

void state_that_stays(Subject& s) {
  PlanSketch g;
  g.builder.result(g.state(), TENON_MODE_LAST, 1);
  expect_at_most(s, g, 0);
}

void states_that_swap(Subject& s) {
  PlanSketch g;
  const uint32_t x = g.state(), y = g.state();
  g.builder.result(y, TENON_MODE_LAST, 1);
  g.builder.result(x, TENON_MODE_LAST, 2);
  expect_at_most(s, g, 2 * kWideBytes);
}

// ---- what is told ----

void expect_told(const char* field, uint64_t found, uint64_t expected) {
  expect(found == expected,
         std::string(field) + " is " + std::to_string(found) + ", expected " + std::to_string(expected));
}

void tells_of_arguments(Subject& s) {
  PlanSketch g;
  const uint32_t x = g.state(), y = g.state({3, kWide}), c = g.scalar(TENON_F32);
  g.builder.result(g.add(x, c), TENON_MODE_LAST, 1);
  g.builder.result(g.reverse(y, {3, kWide}));
  const plugin::FlatGraph graph = g.builder.build();
  for (const uint32_t iterations : {1u, 5u}) {
    const Program program = compile(s, graph, iterations);
    expect_told("argument_bytes", program.info().argument_bytes, 4 * kWideBytes);
    expect_told("result_bytes, which no state's are among,", program.info().result_bytes, 3 * kWideBytes);
  }
}

void tells_of_results_of_each_iteration(Subject& s) {
  PlanSketch g;
  g.builder.result(g.reverse(g.state({3, kWide}), {3, kWide}), TENON_MODE_EACH);
  const plugin::FlatGraph graph = g.builder.build();
  for (const uint32_t iterations : {1u, 5u})
    expect_told("result_bytes of EACH", compile(s, graph, iterations).info().result_bytes, iterations * 3 * kWideBytes);
}

void tells_of_constants(Subject& s) {
  PlanSketch g;
  const uint32_t x = g.state({3}), y = g.state({7});
  g.builder.result(g.add(x, g.fill({3}, 1), {3}));
  g.builder.result(g.add(y, g.fill({7}, 2), {7}));
  const Program program = compile(s, g.builder.build());
  expect(program.info().code_bytes <= 64 + 7 * 4, "code_bytes of constants of 12 and 28 bytes are " +
                                                      std::to_string(program.info().code_bytes) +
                                                      ", expected at most " + std::to_string(64 + 7 * 4));
}

// Maps of few elements are not dealt over threads.
void runs_little_on_one_thread(Subject& s) {
  PlanSketch g;
  g.builder.result(g.neg(g.state()));
  const Program program = compile(s, g.builder.build());
  const Buffer x = f32_buffer(s, kWideVector), y = f32_buffer(s, kWideVector);
  Queue queue(s, s.device());
  write(queue, x, ramp(kWide));
  const uint64_t before = s.log().gangs;
  run_now(queue, program, {{&x}, {&y}});
  expect(s.log().gangs == before, "64 numbers were negated by a gang of threads");
}

}  // namespace

void add_plan_tests(Tests& tests) {
  const auto add = [&](const char* group, const char* name, std::function<void(Subject&)> run) {
    add_test(tests, "plan", group, name, std::move(run), 2).required = false;
  };
  add("in place", "a chain", chain_in_place);
  add("in place", "a chain with other operands", chain_with_others_in_place);
  add("in place", "one value twice", one_value_twice_in_place);
  add("in place", "63 elements", [](Subject& s) { odd_sizes_in_place(s, 63, 256); });
  add("in place", "65 elements", [](Subject& s) { odd_sizes_in_place(s, 65, 320); });
  add("in place", "a state",
      [](Subject& s) { state_in_place(s, [](PlanSketch& g, uint32_t a, uint32_t b) { return g.add(a, b); }); });
  add("in place", "a state, the second operand",
      [](Subject& s) { state_in_place(s, [](PlanSketch& g, uint32_t a, uint32_t b) { return g.add(b, a); }); });
  add("in place", "a state twice",
      [](Subject& s) { state_in_place(s, [](PlanSketch& g, uint32_t a, uint32_t) { return g.add(a, a); }); });
  add("in place", "a state of another shape", [](Subject& s) {
    state_in_place(s, [](PlanSketch& g, uint32_t a, uint32_t) {
      return g.reshape(g.neg(g.reshape(a, {2, kWide / 2}), {2, kWide / 2}), kWideVector);
    });
  });
  add("in place", "a state from another",
      [](Subject& s) { state_in_place(s, [](PlanSketch& g, uint32_t, uint32_t b) { return g.reverse(b); }); });
  add("in place", "a state behind its readers", state_in_place_behind_readers);
  add("views", "parts where they are joined", parts_where_they_are_joined);
  add("views", "parts of other shapes where they are joined", parts_of_other_shapes_where_they_are_joined);
  add("views", "joins of joins", joins_of_joins);
  add("views", "rows where they lie", rows_where_they_lie);
  add("views", "rows of what is made", rows_of_what_is_made);
  add("room", "of what was read", room_of_what_was_read);
  add("room", "of a small one at last", room_of_a_small_one_at_last);
  add("room", "of what grows", [](Subject& s) { room_of_different_sizes(s, true); });
  add("room", "of what shrinks", [](Subject& s) { room_of_different_sizes(s, false); });
  add("room", "beside what lives throughout", room_beside_what_lives_throughout);
  add("room", "of a node alone", room_of_a_node_alone);
  add("room", "of scalars", room_of_scalars);
  add("results", "that are copied", results_that_are_copied);
  add("results", "of a state that stays", state_that_stays);
  add("results", "of states that swap", states_that_swap);
  add("told", "of arguments", tells_of_arguments);
  add("told", "of results of each iteration", tells_of_results_of_each_iteration);
  add("told", "of constants", tells_of_constants);
  add("threads", "little work is one thread's", runs_little_on_one_thread);
}

}  // namespace tenon::conformance
