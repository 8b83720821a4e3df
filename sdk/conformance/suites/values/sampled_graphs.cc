// Graphs of many nodes by chance (conformance/drawn_graphs.h): each value has to be what it is if every value had memory
// of its own.
#include "conformance/host/session.h"
#include "conformance/sample/drawn_graphs.h"
#include "conformance/suites/values/cases.h"
#include "conformance/suites/values/each_taken.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

using reference::Tensor;

// The results of one run.
Expected results_of(const tenon_graph& graph, const std::vector<Tensor>& inputs) {
  Expected out;
  const std::string wrong = reference::evaluate_graph(graph, inputs, reference::Rounding::kDtype, out.values);
  if (!wrong.empty()) fail("the reference cannot evaluate " + wrong);
  for (const Tensor& t : out.values) out.tolerances.push_back(reference::zeros(TENON_F64, t.dims));
  return out;
}

// What the next run is given: the states as they are by now, other scalars.
void go_on(const plugin::GraphView& graph, const std::vector<Tensor>& results, std::vector<Tensor>* inputs) {
  for (uint32_t r = 0; r < graph.n_results(); ++r)
    if (const uint32_t alias = graph.result(r).alias) inputs->at(alias - 1) = results[r];
  for (uint32_t i = 0; i < graph.n_inputs(); ++i) {
    if (graph.input(i).role != TENON_ROLE_SCALAR) continue;
    for (double& v : (*inputs)[i].f) ++v;
    for (int64_t& v : (*inputs)[i].i) ++v;
  }
}

void check_drawn_graph(Subject& subject, Drawn drawn, Place place) {
  const tenon_graph& graph = *drawn.graph.graph();
  Session session(subject, graph, place);
  session.write(drawn.inputs);
  for (int run = 1; run <= 2; ++run) {
    const Expected expected = results_of(graph, drawn.inputs);
    with_words("run " + std::to_string(run), [&] { expect_close(session.run(drawn.inputs), expected); });
    session.check();
    go_on(plugin::GraphView(graph), expected.values, &drawn.inputs);
  }
}

void check_family(Subject& subject, const GraphFamily& family, uint32_t first, uint32_t samples) {
  const auto draw = [&](uint32_t k) {
    Sampler sampler(subject.seed(), std::string("graphs/") + family.name, k);
    return draw_graph(sampler, family);
  };
  each_taken(subject, first, samples, draw, [&](uint32_t k, Drawn drawn) {
    const std::string what = drawn.what;
    try {
      check_drawn_graph(subject, std::move(drawn), k % 2 ? Place::kHost : Place::kDevice);
    } catch (const Failure& failure) {
      throw Failure{"sample " + std::to_string(k + 1) + ", " + failure.text + ", of " + what};
    }
  });
}

}  // namespace

void add_sampled_graph_tests(Tests& tests, uint32_t samples) {
  constexpr uint32_t kParts = 4;  // graphs of many nodes are more different than those of one
  for (const GraphFamily& family : graph_families())
    for (uint32_t part = 0; part < kParts; ++part) {
      Test test;
      test.suite = "sampled";
      test.group = std::string("graphs of ") + family.name;
      test.name = std::to_string(part + 1) + " of " + std::to_string(kParts);
      test.level = 2;
      test.required = false;
      test.time_limit_s = 60 + samples;
      test.run = [&family, part, samples](Subject& s) { check_family(s, family, part * samples, samples); };
      tests.push_back(std::move(test));
    }
}

}  // namespace tenon::conformance
