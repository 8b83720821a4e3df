// Every primitive x dtype x shapes against the f64 reference, under the bound of its op.
#include "conformance/host/lowering.h"
#include "conformance/suites/values/cases.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

// Whether a dot or convolution of the graph may be answered with less than f32's precision.
bool is_licensed(const tenon_graph& graph) {
  const plugin::GraphView view(graph);
  for (uint32_t i = 0; i < view.n_nodes(); ++i) {
    const plugin::NodeView node = view.node(i);
    const bool contracts = node.op() == "dot" || node.op().substr(0, 4) == "conv";
    if (contracts && node.enumerator("precision") != TENON_PRECISION_HIGHEST && node.in(0).dtype() == TENON_F32)
      return true;
  }
  return false;
}

void check_op(Subject& subject, const Case& c) {
  const tenon_graph& graph = *c.whole.graph();
  require_taken(subject, subject.device(), graph);
  const std::vector<reference::Tensor> inputs = inputs_of(c, subject.seed());
  check_graph(subject, graph, inputs, expect_of(c, inputs));
  if (!is_licensed(graph)) return;
  check_graph(subject, *with_precision(graph, TENON_PRECISION_HIGHEST).graph(), inputs,
              expect_of(c, inputs, TENON_PRECISION_HIGHEST), "with precision HIGHEST");
}

}  // namespace

void add_op_tests(Tests& tests) {
  for (const Case* c : cases_of(Case::kOp)) {
    if (!reference::is_primitive(c->op)) continue;
    const bool large = c->min_memory > 0;
    Test test = test_of("op", *c, level_of_primitive(c->op), is_plain(*c->whole.graph()) && !large,
                        [c, large](Subject& s) { large ? check_large(s, *c) : check_op(s, *c); });
    if (large) test.time_limit_s = 180;
    tests.push_back(std::move(test));
  }
  add_pattern_tests(tests);
  add_rank_8_tests(tests);
  add_default_tests(tests);
}

}  // namespace tenon::conformance
