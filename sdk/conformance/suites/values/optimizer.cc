// Optimizers: ten updates one after the other, each compared, whole and in primitives.
#include "conformance/host/lowering.h"
#include "conformance/suites/values/cases.h"

namespace tenon::conformance {
namespace {

void check_optimizer(Subject& subject, const Case& c) {
  size_t taken = 0;
  const plugin::FlatGraph graph = lowered_for(subject, subject.device(), c, &taken);
  const std::vector<Expected> expected = expect_steps(c, subject.seed());
  check_steps(subject, c, *graph.graph(), expected, Place::kHost, taken ? "whole" : "decomposed");
  if (taken == 0) return;
  try {
    require_taken(subject, subject.device(), *c.lowered.graph());
  } catch (const Unsupported&) {
    return;  // the primitives have tests of their own
  }
  check_steps(subject, c, *c.lowered.graph(), expected, Place::kDevice, "in primitives");
}

// Without these nothing is trained.
bool is_common(const std::string& op) { return op == "sgd_update" || op == "momentum_update" || op == "adam_update"; }

}  // namespace

void add_optimizer_tests(Tests& tests) {
  for (const Case* c : cases_of(Case::kUpdate)) {
    const bool common = is_common(c->op);
    tests.push_back(test_of("optimizer", *c, common ? 2 : 3, common && is_plain(*c->lowered.graph()),
                            [c](Subject& s) { check_optimizer(s, *c); }));
  }
}

}  // namespace tenon::conformance
