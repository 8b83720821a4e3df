// Composites: as the backend takes them, and in primitives, against one expectation.
#include "conformance/host/lowering.h"
#include "conformance/suites/values/cases.h"

namespace tenon::conformance {
namespace {

// Primitives that the backend lacks are no fault of a composite that it leaves to them.
plugin::FlatGraph lowered_or_declined(Subject& subject, const Case& c, size_t* taken) {
  *taken = 1;
  try {
    return lowered_for(subject, subject.device(), c, taken);
  } catch (const Unsupported& u) {
    if (*taken == 0) throw Declined{c.op + " is left to its decomposition: " + u.reason};
    throw;
  }
}

void check_composite(Subject& subject, const Case& c) {
  size_t taken = 0;
  const plugin::FlatGraph graph = lowered_or_declined(subject, c, &taken);
  const std::vector<reference::Tensor> inputs = inputs_of(c, subject.seed());
  const Expected expected = expect_of(c, inputs);
  check_graph(subject, *graph.graph(), inputs, expected, taken ? "whole" : "decomposed");
  if (taken == 0) return;
  try {
    require_taken(subject, subject.device(), *c.lowered.graph());
  } catch (const Unsupported&) {
    return;  // the primitives have tests of their own
  }
  check_graph(subject, *c.lowered.graph(), inputs, expected, "in primitives");
}

}  // namespace

void add_composite_tests(Tests& tests) {
  for (const Case* c : cases_of(Case::kOp)) {
    if (reference::is_primitive(c->op)) continue;
    tests.push_back(test_of("composite", *c, 3, false, [c](Subject& s) { check_composite(s, *c); }));
  }
}

}  // namespace tenon::conformance
