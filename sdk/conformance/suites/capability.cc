// What a backend says that it can do: TAKE compiles, answers are pure, what is unknown is not taken.
#include <algorithm>
#include <chrono>

#include "conformance/suites/queue/endless.h"
#include "conformance/suites/support.h"
#include "conformance/suites/values/one_node.h"

namespace tenon::conformance {
namespace {

using plugin::FlatGraph;
using plugin::NodeView;

Answer answer_of(Subject& s, const FlatGraph& graph) { return answers(s, s.device(), *graph.graph()).at(0); }

std::string shape_of(const NodeView& node) {
  std::string text;
  for (int k = 0; k < node.operands(); ++k) {
    if (!node.has(k)) continue;
    text += (text.empty() ? "" : " ") + std::string(plugin::dtype_name(node.in(k).dtype())) + "[";
    for (int d = 0; d < node.in(k).rank(); ++d) text += (d ? "," : "") + std::to_string(node.in(k).dim(d));
    text += "]";
  }
  return std::string(node.op()) + "(" + text + ")";
}

std::string answer_name(int32_t answer) {
  return answer == TENON_TAKE ? "TAKE" : answer == TENON_DECOMPOSE ? "DECOMPOSE" : "REFUSE";
}

// No more than this many of one op, evenly spread: a compiler takes its time.
std::vector<Sample> some_of(const std::string& op) {
  constexpr size_t kMost = 64;
  const std::vector<Sample>& all = samples().at(op);
  if (all.size() <= kMost) return all;
  std::vector<Sample> some;
  for (size_t i = 0; i < kMost; ++i) some.push_back(all[i * (all.size() - 1) / (kMost - 1)]);
  return some;
}

// Throws Unsupported unless one sample at least is taken; of a composite that is left to its decomposition, Declined.
Sample first_taken(Subject& s, const std::string& op) {
  Answer answer;
  bool left = !reference::is_primitive(op);
  for (const Sample& sample : some_of(op)) {
    answer = answer_of(s, one_node_graph(sample.view()));
    if (answer.answer == TENON_TAKE) return sample;
    left = left && answer.answer == TENON_DECOMPOSE;
  }
  if (left) throw Declined{op + " is left to its decomposition"};
  throw Unsupported{op + ": " + (answer.reason.empty() ? answer_name(answer.answer) : answer.reason)};
}

void compile_taken(Subject& s, const Sample& sample, const FlatGraph& graph) {
  const tenon_status status = compile_status(s, *graph.graph());
  expect(status.code == TENON_OK, "supports says TAKE, compile " + code_name(status.code) + ", '" +
                                      one_line(status.message) + "', of " + shape_of(sample.view()));
}

// An op's nodes: what is taken compiles, what is refused has a reason.
void keeps_its_word(Subject& s, const std::string& op) {
  first_taken(s, op);
  for (const Sample& sample : some_of(op))
    for (bool scalars : {false, true}) {
      Change change;
      change.scalars = scalars;
      const FlatGraph graph = one_node_graph(sample.view(), change);
      const Answer answer = answer_of(s, graph);
      if (answer.answer == TENON_TAKE) compile_taken(s, sample, graph);
      expect(answer.answer != TENON_REFUSE || !answer.reason.empty(),
             "supports says REFUSE without a reason for " + shape_of(sample.view()));
    }
}

void expect_not_taken(Subject& s, const Sample& sample, const Change& change, const std::string& what) {
  const Answer answer = answer_of(s, one_node_graph(sample.view(), change));
  expect(answer.answer != TENON_TAKE, "supports says TAKE for " + shape_of(sample.view()) + " with " + what);
  expect(answer.answer != TENON_REFUSE || !answer.reason.empty(),
         "supports says REFUSE without a reason for an op with " + what);
}

// Where it is compiled all the same: what moves nothing here may move something there.
void expect_not_compiled(Subject& s, const Sample& sample, uint32_t version) {
  const FlatGraph graph = one_node_graph(sample.view(), {.version = version});
  expect_code(compile_status(s, *graph.graph()), TENON_UNSUPPORTED,
              "compile of version " + std::to_string(version) + " of " + shape_of(sample.view()));
}

// Whether no operand before it is the same value.
bool is_new_operand(const NodeView& node, int k) {
  for (int earlier = 0; earlier < k; ++earlier)
    if (node.operand_id(earlier) == node.operand_id(k)) return false;
  return true;
}

// As expect_not_taken, where the graph may also be refused as a whole.
void expect_no_take(Subject& s, const Sample& sample, const Change& change, const std::string& what) {
  const FlatGraph graph = one_node_graph(sample.view(), change);
  const uint32_t node = 0;
  tenon_options options{};
  options.struct_size = sizeof options;
  tenon_verdict verdict{};
  const tenon_status status =
      s.backend().supports(s.device(), graph.graph(), &options, &node, 1, &verdict, sizeof verdict);
  const bool refused = status.code == TENON_INVALID || status.code == TENON_UNSUPPORTED;
  if (!refused) expect_ok(status, "supports of an op with " + what);
  expect(refused || verdict.answer != TENON_TAKE,
         "supports says TAKE for " + shape_of(sample.view()) + " with " + what);
}

// The last number of an op's enum attribute.
int64_t most_of(const std::string& op, const std::string& attribute) {
  if (attribute == "kind")
    return op == "compare" ? int64_t{TENON_COMPARE_GE} : op == "scatter" ? int64_t{TENON_SCATTER_SET} : int64_t{TENON_REDUCE_MIN};
  if (attribute == "precision") return TENON_PRECISION_HIGHEST;
  if (attribute == "act") return TENON_ACT_HARD_SWISH;
  if (attribute == "method") return TENON_RESIZE_BILINEAR;
  if (attribute == "coords") return TENON_COORDS_ALIGN_CORNERS;
  if (attribute == "fill") return TENON_FILL_WRAP;
  fail("the suite does not know the numbers of " + op + "'s " + attribute);
}

void takes_nothing_unknown(Subject& s, const std::string& op) {
  const Sample sample = first_taken(s, op);
  const NodeView node = sample.view();
  expect_not_taken(s, sample, {.version = node.version() + 1}, "version " + std::to_string(node.version() + 1));
  expect_not_taken(s, sample, {.version = 0xFFFFFFFF}, "version 4294967295");
  expect_not_compiled(s, sample, node.version() + 1);
  expect_not_taken(s, sample, {.more = "no_such_attribute"}, "an attribute that no version defines");
  for (int32_t dtype : {9, 77, -1}) {
    const std::string what = "dtype " + std::to_string(dtype);
    if (node.has(0)) expect_not_taken(s, sample, {.dtype = dtype}, what);
    for (int k = 1; k < node.operands(); ++k)
      if (node.has(k) && is_new_operand(node, k))
        expect_no_take(s, sample, {.dtype = dtype, .operand = k}, what + " of operand " + std::to_string(k));
    expect_no_take(s, sample, {.result_dtype = dtype}, what + " of its result");
  }
  const tenon_node& raw = node.graph().raw_node(node.index());
  for (uint32_t i = 0; i < raw.attrs.count; ++i) {
    const tenon_attr& attr = node.graph().attr(raw.attrs.first + i);
    const std::string name(node.graph().text(attr.name));
    const bool chooses = attr.type == TENON_ATTR_ENUM || attr.type == TENON_ATTR_DTYPE;
    if (!chooses || name.rfind("tenon.", 0) == 0) continue;
    const int64_t most = attr.type == TENON_ATTR_DTYPE ? int64_t{TENON_BOOL} : most_of(op, name);
    // The next one that a later version may define, and what is one that is known once its upper half is lost.
    for (const int64_t value : {most + 1, int64_t{9999}, int64_t{-1}, node.i64(name) + (int64_t{1} << 32)})
      expect_not_taken(s, sample, {.enum_attribute = name, .enum_value = value}, name + " = " + std::to_string(value));
  }
}

// Hints may be ignored, and may not cost the answer.
void ignores_hints(Subject& s, const std::string& op) {
  const Sample sample = first_taken(s, op);
  const FlatGraph graph = one_node_graph(sample.view(), {.more = "tenon.no_such_hint"});
  const Answer answer = answer_of(s, graph);
  expect(answer.answer == TENON_TAKE,
         "supports says " + answer_name(answer.answer) + " once a hint is added to " + shape_of(sample.view()));
  compile_taken(s, sample, graph);
}

void expect_same(const Answer& found, const Answer& expected, const NodeView& node, const std::string& when) {
  expect(found.answer == expected.answer, "supports says " + answer_name(expected.answer) + ", then " +
                                              answer_name(found.answer) + " for " + shape_of(node) + " " + when);
}

// The answer depends on a node alone: not on the graph around it, its name, other nodes asked for, or earlier calls.
void answers_depend_on_the_node(Subject& s, const FlatGraph& graph) {
  const std::vector<Answer> all = answers(s, s.device(), *graph.graph()),
                            again = answers(s, s.device(), *graph.graph());
  const plugin::GraphView view(*graph.graph());
  tenon_options options{};
  options.struct_size = sizeof options;
  for (uint32_t i = view.n_nodes(); i-- > 0;) {
    expect_same(again[i], all[i], view.node(i), "when it is asked again");
    tenon_verdict verdict{};
    expect_ok(s.backend().supports(s.device(), graph.graph(), &options, &i, 1, &verdict, sizeof verdict), "supports");
    expect_same({verdict.answer, ""}, all[i], view.node(i), "when it is the only one asked for");
    expect_same(answer_of(s, one_node_graph(view.node(i))), all[i], view.node(i), "in a graph of its own");
  }
}

void answers_no_nodes(Subject& s) {
  const FlatGraph graph = sum_graph(4);
  tenon_options options{};
  options.struct_size = sizeof options;
  tenon_verdict verdict{};
  verdict.answer = 77;
  expect_ok(s.backend().supports(s.device(), graph.graph(), &options, nullptr, 0, &verdict, sizeof verdict),
            "supports of no nodes");
  expect(verdict.answer == 77, "supports of no nodes wrote a verdict");
}

void takes_no_unknown_op(Subject& s) {
  for (const char* op : {"no_such_op", "", "add2", "ad", "Add", "add_update", "foreign"}) {
    Sketch sketch;
    const uint32_t x = sketch.state(TENON_F32, {4});
    sketch.builder.result(sketch.node(op, {x, x}, TENON_F32, {4}));
    const Answer answer = answer_of(s, sketch.builder.build());
    expect(answer.answer != TENON_TAKE, std::string("supports says TAKE for an op named '") + op + "'");
    expect(answer.answer != TENON_REFUSE || !answer.reason.empty(),
           std::string("supports says REFUSE without a reason for an op named '") + op + "'");
  }
}

// What an op asks for in other places than the op suite's: options that do not change what is taken.
void takes_alike_when_deterministic(Subject& s) {
  size_t taken = 0;
  for (const auto& [op, all] : samples()) {
    const FlatGraph graph = one_node_graph(all.front().view());
    const Answer plain = answer_of(s, graph);
    tenon_options options{};
    options.struct_size = sizeof options;
    options.flags = TENON_OPTION_DETERMINISTIC;
    const uint32_t node = 0;
    tenon_verdict verdict{};
    expect_ok(s.backend().supports(s.device(), graph.graph(), &options, &node, 1, &verdict, sizeof verdict),
              "supports under DETERMINISTIC");
    expect(verdict.reserved == 0, "supports: reserved is " + std::to_string(verdict.reserved) + ", expected 0");
    if (plain.answer != TENON_TAKE || verdict.answer != TENON_TAKE) continue;
    ++taken;
    const Program program(s, s.device(), *graph.graph(), options);
  }
  if (taken == 0) throw Unsupported{"the backend takes no op"};
}

}  // namespace

void add_capability_tests(Tests& tests) {
  const auto add = [&](const char* group, const std::string& name, std::function<void(Subject&)> run,
                       int level) -> Test& {
    return add_test(tests, "capability", group, name, std::move(run), level);
  };
  add("supports", "no nodes", answers_no_nodes, 0);
  add("supports", "unknown ops", takes_no_unknown_op, 0);
  add("supports", "under DETERMINISTIC", takes_alike_when_deterministic, 1);
  for (const Case& c : built_in_corpus())
    if (c.kind == Case::kTraining)
      for (const FlatGraph* graph : {&c.whole, &c.lowered})
        add(
            "pure", c.op + " " + c.name + (graph == &c.whole ? "" : " in primitives"),
            [graph](Subject& s) { answers_depend_on_the_node(s, *graph); }, 0);
  // What is missing is counted by the op suite.
  for (const auto& entry : samples()) {
    const std::string op = entry.first;
    add(
        "take", op, [op](Subject& s) { keeps_its_word(s, op); }, 1)
        .required = false;
    add(
        "unknown", op, [op](Subject& s) { takes_nothing_unknown(s, op); }, 1)
        .required = false;
    add(
        "hints", op, [op](Subject& s) { ignores_hints(s, op); }, 1)
        .required = false;
  }
}

}  // namespace tenon::conformance
