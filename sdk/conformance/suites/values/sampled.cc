// Every primitive x dtype on shapes and values by chance (conformance/sampler.h): what --seed and --samples vary.
#include "conformance/reference/error_bound.h"
#include "conformance/suites/values/cases.h"
#include "conformance/suites/values/each_taken.h"

namespace tenon::conformance {
namespace {

void check_drawn(Subject& subject, const Drawn& drawn, const std::string& what) {
  const tenon_graph& graph = *drawn.graph.graph();
  Expected expected = expect_of(graph, drawn.inputs, false);
  expected.zero_signs = reference::keeps_zero_signs(plugin::GraphView(graph).node(0));
  check_graph(subject, graph, drawn.inputs, expected, what);
}

void check_samples(Subject& subject, const SampledOp& op, int32_t dtype, uint32_t samples) {
  const std::string name = std::string(op.op) + "/" + plugin::dtype_name(dtype);
  const auto draw = [&](uint32_t k) {
    Sampler sampler(subject.seed(), name, k);
    return op.draw(sampler, dtype);
  };
  each_taken(subject, 0, samples, draw, [&](uint32_t k, const Drawn& drawn) {
    check_drawn(subject, drawn, "sample " + std::to_string(k + 1) + ", " + drawn.what);
  });
}

}  // namespace

void add_sampled_tests(Tests& tests, uint32_t samples) {
  for (const auto family : {elementwise_samples, movement_samples, sum_samples})
    for (const SampledOp& op : family())
      for (int32_t dtype : op.dtypes) {
        Test test;
        test.suite = "sampled";
        test.group = op.op;
        test.name = plugin::dtype_name(dtype);
        test.level = level_of_primitive(op.op);
        test.required = false;  // what the op must take, suite op asks for
        test.time_limit_s = 60 + samples;
        test.run = [op, dtype, samples](Subject& s) { check_samples(s, op, dtype, samples); };
        tests.push_back(std::move(test));
      }
}

}  // namespace tenon::conformance
