// Part of the op suite: shapes of eight axes, of which no two can be walked as one, against the reference to the last bit.
#include "conformance/reference/reference.h"
#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

const Dims kEightDims{2, 3, 2, 3, 2, 3, 2, 3};

Dims of_each(int64_t even, int64_t odd) {
  Dims out;
  for (int axis = 0; axis < 8; ++axis) out.push_back(axis % 2 ? odd : even);
  return out;
}

// A node on whole numbers.
struct EightAxes {
  const char* op;
  Dims from, to;
  void (*attributes)(plugin::GraphBuilder&);
};

const std::vector<EightAxes>& eight_axes() {
  static const auto& all = *new std::vector<EightAxes>{
      {"transpose",
       kEightDims,
       {3, 2, 3, 2, 3, 2, 3, 2},
       [](plugin::GraphBuilder& b) {
         b.attr_list("perm", {7, 6, 5, 4, 3, 2, 1, 0});
       }},
      {"transpose",
       kEightDims,
       {3, 2, 3, 2, 3, 2, 3, 2},
       [](plugin::GraphBuilder& b) {
         b.attr_list("perm", {1, 0, 3, 2, 5, 4, 7, 6});
       }},
      {"reverse", kEightDims, kEightDims,
       [](plugin::GraphBuilder& b) {
         b.attr_list("axes", {0, 2, 4, 6});
       }},
      {"slice",
       {3, 4, 3, 4, 3, 4, 3, 4},
       of_each(2, 2),
       [](plugin::GraphBuilder& b) {
         b.attr_list("start", of_each(1, 0)).attr_list("limit", of_each(3, 4)).attr_list("stride", of_each(1, 2));
       }},
      {"pad", of_each(2, 2), of_each(3, 3),
       [](plugin::GraphBuilder& b) {
         b.attr_list("low", of_each(1, 0)).attr_list("high", of_each(0, 0)).attr_list("interior", of_each(0, 1));
         b.attr_f64("value", 5);
       }},
      {"broadcast", of_each(2, 1), kEightDims,
       [](plugin::GraphBuilder& b) {
         b.attr_list("shape", kEightDims).attr_list("dims", {0, 1, 2, 3, 4, 5, 6, 7});
       }},
      {"reduce",
       kEightDims,
       {2, 2, 2, 2},
       [](plugin::GraphBuilder& b) {
         b.attr_list("axes", {1, 3, 5, 7}).attr_enum("kind", TENON_REDUCE_SUM);
       }},
      {"reduce", kEightDims, {3, 3, 3, 3}, [](plugin::GraphBuilder& b) {
         b.attr_list("axes", {0, 2, 4, 6}).attr_enum("kind", TENON_REDUCE_MAX);
       }}};
  return all;
}

void moves_eight_axes(Subject& s, const EightAxes& moved) {
  Sketch sketch;
  const uint32_t x = sketch.state(TENON_F32, moved.from);
  const uint32_t y = sketch.node(moved.op, {x}, TENON_F32, moved.to);
  moved.attributes(sketch.builder);
  sketch.builder.result(y);
  const plugin::FlatGraph graph = sketch.builder.build();
  const Program program = compile(s, graph);
  reference::Tensor in = reference::zeros(TENON_F32, moved.from);
  for (size_t i = 0; i < in.f.size(); ++i) in.f[i] = static_cast<double>(i);
  std::vector<reference::Tensor> expected;
  const std::string wrong = reference::evaluate_graph(*graph.graph(), {in}, reference::Rounding::kDtype, expected);
  expect(wrong.empty(), "the reference cannot evaluate it: " + wrong);
  Queue queue(s, s.device());
  const Buffer from = f32_buffer(s, moved.from), to = f32_buffer(s, moved.to);
  write(queue, from, Floats(in.f.begin(), in.f.end()));
  queue.write_rubbish(to);
  run_now(queue, program, {{&from}, {&to}});
  expect_equal(read(queue, to), Floats(expected[0].f.begin(), expected[0].f.end()),
               std::string(moved.op) + " of eight axes");
}

}  // namespace

void add_rank_8_tests(Tests& tests) {
  int n = 0;
  for (const EightAxes& moved : eight_axes())
    add_test(
        tests, "op", moved.op, "of eight axes, " + std::to_string(++n),
        [&moved](Subject& s) { moves_eight_axes(s, moved); }, 2);
}

}  // namespace tenon::conformance
