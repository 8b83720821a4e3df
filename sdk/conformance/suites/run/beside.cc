// Part of the program suite: a kernel writes its result and its own scratch, and nothing that lies beside them.
#include <memory>

#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

// Sums that are kept wider than their operands, products of operands that are widened, an order that is kept apart.
struct Busy {
  const char* name;
  int32_t dtype;
  std::vector<uint32_t> (*node)(Sketch& sketch, uint32_t x, int32_t dtype);  // of x: f32[16,16]; results in any dtype
};

uint32_t narrowed(Sketch& sketch, uint32_t x, int32_t dtype) {
  const uint32_t y = sketch.node("cast", {x}, dtype, {16, 16});
  sketch.builder.attr_dtype("to", dtype);
  return y;
}

// 33 sums of 7: one more than fills blocks of 64 bytes, so that scratch which is one short ends where others begin.
std::vector<uint32_t> rows_summed(Sketch& sketch, uint32_t x, int32_t dtype) {
  const uint32_t all = sketch.node("reshape", {narrowed(sketch, x, dtype)}, dtype, {256});
  sketch.builder.attr_list("shape", {256});
  const uint32_t first = sketch.node("slice", {all}, dtype, {231});
  sketch.builder.attr_list("start", {0}).attr_list("limit", {231});
  const uint32_t rows = sketch.node("reshape", {first}, dtype, {33, 7});
  sketch.builder.attr_list("shape", {33, 7});
  const uint32_t y = sketch.node("reduce", {rows}, dtype, {33});
  sketch.builder.attr_list("axes", {1}).attr_enum("kind", TENON_REDUCE_SUM);
  return {y};
}

std::vector<uint32_t> multiplied(Sketch& sketch, uint32_t x, int32_t dtype) {
  const uint32_t a = narrowed(sketch, x, dtype);
  const uint32_t narrow = sketch.node("dot", {a, a}, dtype, {16, 16});
  const uint32_t wide = sketch.node("dot", {a, a}, TENON_F32, {16, 16});
  sketch.builder.attr_dtype("out", TENON_F32);
  return {narrow, wide};
}

std::vector<uint32_t> sorted(Sketch& sketch, uint32_t x, int32_t) {
  const uint32_t y = sketch.builder.value(TENON_F32, {16, 16}), order = sketch.builder.value(TENON_I32, {16, 16});
  sketch.builder.node("sort", {x}, {y, order}).name("sort").attr_i64("k", 16).attr_bool("descending", false);
  return {y, order};
}

std::vector<uint32_t> scattered(Sketch& sketch, uint32_t x, int32_t dtype) {
  const int32_t places[16] = {3, 3, 1, 0, 15, 14, 13, 12, 3, 2, 1, 0, 7, 7, 7, 7};
  const uint32_t a = narrowed(sketch, x, dtype), at = sketch.builder.constant(TENON_I32, {16}, places, sizeof places);
  const uint32_t y = sketch.node("scatter", {a, at, a}, dtype, {16, 16});
  sketch.builder.attr_i64("axis", 0).attr_enum("kind", TENON_SCATTER_ADD);
  return {y};
}

// Values of many sizes are made first and read last, in reverse, so that they wait in the workspace meanwhile.
void leaves_what_lies_beside(Subject& s, const Busy& busy) {
  const std::vector<int64_t> sizes{1, 15, 16, 17, 64, 100, 128, 256, 300, 512, 1000, 2048};
  Sketch sketch;
  const uint32_t x = sketch.state(TENON_F32, {16, 16});
  std::vector<uint32_t> waiting;
  for (const int64_t n : sizes) {
    const uint32_t in = sketch.state(TENON_F32, {n});
    waiting.push_back(sketch.add(in, sketch.fill({n}, 1), {n}));
  }
  const std::vector<uint32_t> made = busy.node(sketch, sketch.add(x, sketch.fill({16, 16}, 0), {16, 16}), busy.dtype);
  for (size_t i = 0; i < sizes.size(); ++i) {
    sketch.builder.result(sketch.node("reverse", {waiting[i]}, TENON_F32, {sizes[i]}));
    sketch.builder.attr_list("axes", {0});
  }
  for (const uint32_t value : made) sketch.builder.result(value);
  const plugin::FlatGraph graph = sketch.builder.build();
  const plugin::GraphView view(*graph.graph());
  const Program program = compile(s, graph);
  Queue queue(s, s.device());
  std::vector<std::unique_ptr<Buffer>> in, out;
  Arguments arguments;
  const auto keep = [&](std::vector<std::unique_ptr<Buffer>>& kept, int32_t dtype, const Dims& dims) {
    kept.push_back(std::make_unique<Buffer>(s, s.device(), dtype, dims));
    return kept.back().get();
  };
  arguments.inputs.push_back(keep(in, TENON_F32, {16, 16}));
  write(queue, *in[0], ramp(256, -64, 0.5f));
  for (size_t i = 0; i < sizes.size(); ++i) {
    arguments.inputs.push_back(keep(in, TENON_F32, {sizes[i]}));
    write(queue, *in.back(), ramp(sizes[i], static_cast<float>(100 * i)));
    arguments.results.push_back(keep(out, TENON_F32, {sizes[i]}));
  }
  for (const uint32_t value : made)
    arguments.results.push_back(keep(out, view.value(value).dtype(), view.value(value).dims().vec()));
  run_now(queue, program, arguments);
  for (size_t i = 0; i < sizes.size(); ++i)
    expect_equal(read(queue, *out[i]), ramp(sizes[i], static_cast<float>(100 * i) + static_cast<float>(sizes[i]), -1),
                 "a value of " + std::to_string(sizes[i]) + " elements that waited beside " + busy.name);
}

}  // namespace

void add_beside_tests(Tests& tests) {
  static const auto& all = *new std::vector<Busy>{{"rows of bf16 summed", TENON_BF16, rows_summed},
                                                  {"rows of f16 summed", TENON_F16, rows_summed},
                                                  {"a product of bf16", TENON_BF16, multiplied},
                                                  {"a product of f32", TENON_F32, multiplied},
                                                  {"a sort", TENON_F32, sorted},
                                                  {"a scatter of bf16", TENON_BF16, scattered}};
  for (const Busy& busy : all)
    add_test(
        tests, "program", "beside", busy.name, [&busy](Subject& s) { leaves_what_lies_beside(s, busy); }, 2)
        .required = busy.dtype == TENON_F32;
}

}  // namespace tenon::conformance
