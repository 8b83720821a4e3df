// What a kernel keeps while it works belongs to its run: one run is held as it writes its result, another comes between.
#include <cstring>
#include <memory>

#include "conformance/suites/run/gate.h"
#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

constexpr int64_t kRows = 64, kColumns = 64;

// Kernels that commonly keep their result, or an order, apart until the end. Each makes kRows of float bits.
plugin::FlatGraph sorting_graph() {
  Sketch sketch;
  const uint32_t x = sketch.state(TENON_F32, {kRows}), y = sketch.builder.value(TENON_F32, {kRows}),
                 order = sketch.builder.value(TENON_I32, {kRows});
  sketch.builder.node("sort", {x}, {y, order}).name("sort").attr_i64("k", kRows).attr_bool("descending", false);
  sketch.builder.result(y);
  return sketch.builder.build();
}

// The rows come as f32, of which bf16 holds what the tests use.
plugin::FlatGraph sum_of_bf16_graph() {
  Sketch sketch;
  const uint32_t x = sketch.node("cast", {sketch.state(TENON_F32, {kRows})}, TENON_BF16, {kRows});
  sketch.builder.attr_dtype("to", TENON_BF16);
  const uint32_t all = sketch.node("broadcast", {x}, TENON_BF16, {kRows, kColumns});
  sketch.builder.attr_list("dims", {0}).attr_list("shape", {kRows, kColumns});
  const uint32_t sum = sketch.node("reduce", {all}, TENON_BF16, {kRows});
  sketch.builder.attr_list("axes", {1}).attr_enum("kind", TENON_SUM);
  sketch.builder.result(sum);
  return sketch.builder.build();
}

using Owner = std::unique_ptr<tenon_buffer, void (*)(tenon_buffer*)>;

Owner wrap(Subject& s, const Gate& gate, int32_t dtype) {
  tenon_desc desc{};
  desc.struct_size = sizeof desc;
  desc.flags = TENON_DESC_HOST;
  desc.dtype = dtype;
  desc.rank = 1;
  desc.dims[0] = kRows;
  desc.host_memory = const_cast<void*>(gate.memory());
  tenon_buffer* buffer = nullptr;
  void* host = nullptr;
  const tenon_status status = s.backend().buffer_alloc(s.device(), &desc, &buffer, &host);
  if (status.code == TENON_UNSUPPORTED) throw Unavailable{"the backend wraps no memory of the host"};
  expect_ok(status, "buffer_alloc of memory that is wrapped");
  return Owner(buffer, s.backend().buffer_free);
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

// The first run stops where it begins to write what it made, then the second runs from beginning to end, then the first
// goes on. Where runs wait for each other the first is let go too.
void keeps_what_it_works_on(Subject& s, const plugin::FlatGraph& graph, int32_t dtype) {
  const Program first = compile(s, graph), second = compile(s, graph);
  const Floats mine = ramp(kRows, 64, -1), others = ramp(kRows, 1, 2);
  const std::vector<uint8_t> expected = run_alone(s, first, dtype, mine);
  const Buffer in = f32_buffer(s, {kRows}), other_in = f32_buffer(s, {kRows}), other_out(s, s.device(), dtype, {kRows});
  Gate result(filled(kRows, 0)), start(others);
  const Owner out = wrap(s, result, dtype);
  Queue queue(s, s.device()), other(s, s.device());
  write(queue, in, mine);
  start.open_when_all_wait(&result);
  on_threads(2, [&](int thread) {
    if (thread == 0) {
      tenon_buffer *input = in.handle(), *output = out.get();
      tenon_run run{};
      run.struct_size = sizeof run;
      run.program = first.handle();
      run.iterations = 1;
      run.inputs = &input;
      run.results = &output;
      return queue.wait(queue.submit(run));
    }
    submit_copy(s, other, copy_to(other_in, start.memory(), other_in.bytes()));
    run_now(other, second, {{&other_in}, {&other_out}});
  });
  expect(std::memcmp(result.memory(), expected.data(), expected.size()) == 0,
         "a run that was held as it wrote its result wrote another one, as a second run came between");
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
