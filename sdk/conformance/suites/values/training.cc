// Models: each step's loss and states against the reference's, and forward passes.
#include "conformance/host/lowering.h"
#include "conformance/suites/values/cases.h"

namespace tenon::conformance {
namespace {

// The reference's training takes longer than the backend's: both tests of a case share it, if one process runs them.
const std::vector<Expected>& expected_steps(const Case& c, uint64_t seed) {
  static const Case* last = nullptr;
  static uint64_t last_seed = 0;
  static auto& expected = *new std::vector<Expected>;
  if (last != &c || last_seed != seed) expected = expect_steps(c, seed);
  last = &c;
  last_seed = seed;
  return expected;
}

void train_in_primitives(Subject& subject, const Case& c) {
  require_taken(subject, subject.device(), *c.lowered.graph());
  check_steps(subject, c, *c.lowered.graph(), expected_steps(c, subject.seed()), Place::kHost);
}

void train_whole(Subject& subject, const Case& c) {
  const plugin::FlatGraph graph = lowered_for(subject, subject.device(), c);
  check_steps(subject, c, *graph.graph(), expected_steps(c, subject.seed()), Place::kDevice);
}

void infer(Subject& subject, const Case& c) {
  const plugin::FlatGraph graph = lowered_for(subject, subject.device(), c);
  const std::vector<reference::Tensor> inputs = inputs_of(c, subject.seed());
  check_graph(subject, *graph.graph(), inputs, expect_of(c, inputs));
}

Test model_test(const Case& c, const std::string& how, int level, std::function<void(Subject&)> run) {
  Test test = test_of("training", c, level, true, std::move(run));
  test.name = c.name + (c.name.empty() ? "" : " ") + how;
  test.time_limit_s = 120;
  return test;
}

}  // namespace

void add_training_tests(Tests& tests) {
  for (const Case* c : cases_of(Case::kInference))
    tests.push_back(model_test(*c, "inference", 1, [c](Subject& s) { infer(s, *c); }));
  for (const Case* c : cases_of(Case::kTraining)) {
    tests.push_back(
        model_test(*c, "in primitives", c->catalogue ? 3 : 2, [c](Subject& s) { train_in_primitives(s, *c); }));
    tests.push_back(model_test(*c, "as it is taken", 3, [c](Subject& s) { train_whole(s, *c); }));
  }
}

}  // namespace tenon::conformance
