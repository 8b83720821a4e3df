// What a kernel keeps while it works belongs to its run, whatever else runs meanwhile.
#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

constexpr int64_t kRows = 4096, kColumns = 16;
constexpr int kRuns = 300;

// Kernels that commonly keep their result, or an order, apart until the end. Each makes kRows of float bits.
plugin::FlatGraph sorting_graph() {
  Sketch sketch;
  const uint32_t x = sketch.state(TENON_F32, {kRows}), y = sketch.builder.value(TENON_F32, {kRows}),
                 order = sketch.builder.value(TENON_I32, {kRows});
  sketch.builder.node("sort", {x}, {y, order}).name("sort").attr_i64("k", kRows).attr_bool("descending", false);
  sketch.builder.result(y);
  return sketch.builder.build();
}

plugin::FlatGraph sum_of_bf16_graph() {
  Sketch sketch;
  const uint32_t x = sketch.node("cast", {sketch.state(TENON_F32, {kRows})}, TENON_BF16, {kRows});
  sketch.builder.attr_dtype("to", TENON_BF16);
  const uint32_t all = sketch.node("broadcast", {x}, TENON_BF16, {kRows, kColumns});
  sketch.builder.attr_list("dims", {0}).attr_list("shape", {kRows, kColumns});
  const uint32_t sum = sketch.node("reduce", {all}, TENON_BF16, {kRows});
  sketch.builder.attr_list("axes", {1}).attr_enum("kind", TENON_REDUCE_SUM);
  sketch.builder.result(sum);
  return sketch.builder.build();
}

// The bits of the result for these numbers.
std::vector<uint8_t> run_alone(Subject& s, const Program& program, int32_t dtype, const Floats& numbers) {
  Queue queue(s, s.device());
  const Buffer in = f32_buffer(s, {kRows}), out(s, s.device(), dtype, {kRows});
  write(queue, in, numbers);
  run_now(queue, program, {{&in}, {&out}});
  std::vector<uint8_t> bits(out.bytes());
  queue.read(out, bits.data(), bits.size());
  return bits;
}

// Runs on two threads are under way together sooner or later; each makes what it makes alone.
void keeps_what_it_works_on(Subject& s, const plugin::FlatGraph& graph, int32_t dtype) {
  const Program programs[] = {compile(s, graph), compile(s, graph)};
  const Floats numbers[] = {ramp(kRows, kRows, -1), ramp(kRows, 1, 2)};
  const std::vector<uint8_t> expected[] = {run_alone(s, programs[0], dtype, numbers[0]),
                                           run_alone(s, programs[1], dtype, numbers[1])};
  on_threads(2, [&](int thread) {
    for (int i = 0; i < kRuns; ++i)
      expect(run_alone(s, programs[thread], dtype, numbers[thread]) == expected[thread],
             "a run wrote another result while one of another program was under way, in round " + std::to_string(i));
  });
}

}  // namespace

void add_scratch_tests(Tests& tests) {
  add_test(
      tests, "threads", "scratch", "sort", [](Subject& s) { keeps_what_it_works_on(s, sorting_graph(), TENON_F32); },
      2);
  add_test(
      tests, "threads", "scratch", "sums of bf16",
      [](Subject& s) { keeps_what_it_works_on(s, sum_of_bf16_graph(), TENON_BF16); }, 2)
      .required = false;
}

}  // namespace tenon::conformance
