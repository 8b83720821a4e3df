// What supports says: pure, honest, and nothing is taken that nobody knows.
#include <cstring>
#include <map>

#include "conformance/lowering.h"
#include "conformance/suites/cases.h"
#include "conformance/suites/support.h"

namespace tenon::conformance {
namespace {

const char* word(int32_t answer) {
  return answer == TENON_TAKE ? "TAKE" : answer == TENON_DECOMPOSE ? "DECOMPOSE" : answer == TENON_REFUSE ? "REFUSE" : "no answer";
}

std::string words(const Answer& a) { return std::string(word(a.answer)) + (a.reason.empty() ? "" : " (" + a.reason + ")"); }

// Every node is answered with one of the three, refusals with a reason, and asking again gives the same.
std::vector<Answer> asked_twice(Subject& s, const tenon_graph& graph) {
  const std::vector<Answer> first = answers(s, s.device(), graph), again = answers(s, s.device(), graph);
  for (size_t i = 0; i < first.size(); ++i) {
    expect(first[i].answer >= TENON_REFUSE && first[i].answer <= TENON_TAKE, "supports answers " + std::to_string(first[i].answer));
    expect(first[i].answer != TENON_REFUSE || !first[i].reason.empty(), "supports refuses without a reason");
    expect(first[i].answer == again[i].answer, "supports answers " + words(first[i]) + " and then " + words(again[i]));
  }
  return first;
}

// A graph whose nodes are all taken compiles.
void keeps_its_word(Subject& s, const Case& c) {
  for (const plugin::FlatGraph* graph : {&c.whole, &c.lowered}) {
    for (const Answer& a : asked_twice(s, *graph->graph()))
      if (a.answer != TENON_TAKE) throw Unsupported{words(a)};
    try {
      const Program program(s, s.device(), *graph->graph());
    } catch (const Unsupported& refusal) {
      fail("every node was answered TAKE, and compile says: " + refusal.reason);
    }
  }
}

// The answer for a node does not depend on what else is asked for or stands in the graph.
void depends_on_the_node_alone(Subject& s) {
  Sketch g;
  const Dims dims{5};
  const uint32_t x = g.state(TENON_F32, dims), sum = g.add(x, x, dims), product = g.mul(sum, x, dims);
  g.builder.result(g.node("no_such_op", {product}, TENON_F32, dims));
  const plugin::FlatGraph graph = g.builder.build();
  const std::vector<Answer> all = answers(s, s.device(), *graph.graph());
  tenon_options options{};
  options.struct_size = sizeof options;
  struct Wide {
    tenon_verdict verdict;
    uint64_t beyond = 0x5A5A5A5A5A5A5A5A;
  };
  for (uint32_t first = 0; first < 3; ++first) {
    const uint32_t nodes[] = {2 - first, first};  // any order
    Wide out[2] = {};
    expect_ok(s.backend().supports(s.device(), graph.graph(), &options, nodes, 2, &out[0].verdict, sizeof(Wide)), "supports");
    for (int k = 0; k < 2; ++k) {
      expect(out[k].verdict.answer == all[nodes[k]].answer, std::string("supports answers ") + word(out[k].verdict.answer) + " for a node that it answered " +
                                                               words(all[nodes[k]]) + " among others");
      expect(out[k].beyond == 0x5A5A5A5A5A5A5A5A, "supports writes beyond a verdict whose stride is larger");
    }
  }
}

void expect_not_taken(Subject& s, const tenon_graph& graph, const std::string& what) {
  const Answer a = answers(s, s.device(), graph).back();
  expect(a.answer != TENON_TAKE, "supports takes " + what);
  tenon_options options{};
  options.struct_size = sizeof options;
  tenon_program* program = nullptr;
  tenon_info info{};
  info.struct_size = sizeof info;
  const tenon_status status = s.backend().compile(s.device(), &graph, &options, &program, &info);
  if (status.code == TENON_OK) s.backend().program_destroy(program);
  expect(status.code != TENON_OK, "compile accepts " + what);
  expect(!one_line(status.message).empty(), "compile refuses " + what + " without a message");
}

void unknown_ops(Subject& s) {
  for (const char* op : {"no_such_op", "foreign", "ADD", "add2", ""}) {
    Sketch g;
    const uint32_t x = g.state(TENON_F32, {4});
    g.builder.result(g.node(op, {x, x}, TENON_F32, {4}));
    expect_not_taken(s, *g.builder.build().graph(), std::string("an op '") + op + "'");
  }
}

void unknown_versions(Subject& s) {
  for (uint32_t version : {0u, 2u, 99u}) {
    plugin::GraphBuilder b;
    const uint32_t x = b.input(TENON_F32, {4}, TENON_ROLE_STATE), y = b.value(TENON_F32, {4});
    b.node("add", {x, x}, {y}, version).name("add");
    b.result(y);
    expect_not_taken(s, *b.build().graph(), "add of version " + std::to_string(version));
  }
}

void unknown_dtypes(Subject& s) {
  for (int32_t dtype : {0, 9, 77, -1}) {
    Sketch g;
    const uint32_t x = g.state(dtype, {4});
    g.builder.result(g.node("add", {x, x}, dtype, {4}));
    expect_not_taken(s, *g.builder.build().graph(), "dtype " + std::to_string(dtype));
  }
}

void unknown_kinds(Subject& s) {
  for (int64_t kind : {-1, 6, 1000}) {
    Sketch g;
    const uint32_t x = g.state(TENON_F32, {4}), y = g.node("compare", {x, x}, TENON_BOOL, {4});
    g.builder.attr_enum("kind", kind);
    g.builder.result(y);
    expect_not_taken(s, *g.builder.build().graph(), "compare of kind " + std::to_string(kind));
  }
}

// Hints may be ignored; any other attribute that a backend does not know changes what the op means.
void unknown_attributes(Subject& s) {
  const auto sum = [](const char* attribute) {
    Sketch g;
    const uint32_t x = g.state(TENON_F32, {4}), y = g.add(x, x, {4});
    if (*attribute) g.builder.attr_i64(attribute, 1);
    g.builder.result(y);
    return g.builder.build();
  };
  if (answers(s, s.device(), *sum("").graph())[0].answer != TENON_TAKE) throw Unsupported{"add of f32 is not taken"};
  expect_not_taken(s, *sum("no_such_attribute").graph(), "an attribute 'no_such_attribute'");
  const Answer hinted = answers(s, s.device(), *sum("tenon.no_such_hint").graph())[0];
  expect(hinted.answer == TENON_TAKE, "a hint, 'tenon.no_such_hint', changes the answer to " + words(hinted));
}

}  // namespace

void add_capability_tests(Tests& tests) {
  add_test(tests, "capability", "", "depends_on_the_node_alone", depends_on_the_node_alone, 0);
  add_test(tests, "capability", "", "unknown_ops", unknown_ops, 0);
  add_test(tests, "capability", "", "unknown_versions", unknown_versions, 0);
  add_test(tests, "capability", "", "unknown_dtypes", unknown_dtypes, 0);
  add_test(tests, "capability", "", "unknown_kinds", unknown_kinds, 0);
  add_test(tests, "capability", "", "unknown_attributes", unknown_attributes, 1);
  for (const Case* c : cases_of(Case::kOp))
    if (c->min_memory == 0) tests.push_back(test_of("capability", *c, 1, false, [c](Subject& s) { keeps_its_word(s, *c); }));
}

}  // namespace tenon::conformance
