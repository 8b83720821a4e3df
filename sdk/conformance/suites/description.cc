// Part of the program suite: what a backend says of its plans.
#include <algorithm>
#include <cstring>
#include <set>

#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

template <class T>
std::vector<T> described_rows(const T* rows, uint32_t n, uint64_t stride, const char* what) {
  expect(n == 0 || (rows && stride >= sizeof(T)), std::string("describe: ") + what + " without an array or a stride");
  std::vector<T> out(n);
  for (uint32_t i = 0; i < n; ++i)
    std::memcpy(&out[i], reinterpret_cast<const uint8_t*>(rows) + i * stride, sizeof out[i]);
  return out;
}

// A program of a graph and what is said of it.
struct Described {
  Described(Subject& s, const plugin::FlatGraph& flat) : graph(*flat.graph()), program(compile(s, flat)) {
    const tenon_backend& backend = s.backend();
    if (!TENON_HAS(&backend, tenon_backend, describe) || !backend.describe)
      throw Unavailable{"the backend does not describe its plans"};
    tenon_plan plan{};
    plan.struct_size = sizeof plan;
    const tenon_status status = backend.describe(program.handle(), &plan);
    expect(status.code == TENON_OK, "describe: code " + std::to_string(status.code));
    steps = described_rows(plan.steps, plan.n_steps, plan.step_stride, "steps");
    buffers = described_rows(plan.buffers, plan.n_buffers, plan.buffer_stride, "buffers");
    values = described_rows(plan.values, plan.n_values, plan.value_stride, "values");
    nodes.assign(plan.nodes, plan.nodes + plan.n_nodes);
  }

  plugin::GraphView graph;
  Program program;
  std::vector<tenon_plan_step> steps;
  std::vector<tenon_plan_buffer> buffers;
  std::vector<tenon_plan_value> values;
  std::vector<uint32_t> nodes;
};

// Values of five sizes, one that is computed in place, an update of a state, and two results.
plugin::FlatGraph graph_of_a_step() {
  Sketch g;
  const int64_t n = 1024;
  const uint32_t state = g.state(TENON_F32, {n}), x = g.feed(TENON_F32, {4, n});
  const uint32_t squares = g.mul(x, x, {4, n});
  const uint32_t sums = g.node("reduce", {squares}, TENON_F32, {n});
  g.builder.attr_list("axes", {0}).attr_enum("kind", TENON_REDUCE_SUM);
  const uint32_t reversed = g.node("reverse", {sums}, TENON_F32, {n});
  g.builder.attr_list("axes", {0});
  g.builder.result(g.add(state, reversed, {n}), TENON_MODE_LAST, 1);
  const uint32_t total = g.node("reduce", {squares}, TENON_F32, {});
  g.builder.attr_list("axes", {0, 1}).attr_enum("kind", TENON_REDUCE_SUM);
  g.builder.result(total);
  g.builder.result(g.node("neg", {sums}, TENON_F32, {n}));
  return g.builder.build();
}

void names_each_node_once(Subject& s) {
  const plugin::FlatGraph flat = graph_of_a_step();
  const Described d(s, flat);
  std::set<std::pair<uint32_t, uint32_t>> done;
  for (size_t i = 0; i < d.steps.size(); ++i) {
    const tenon_plan_step& step = d.steps[i];
    const std::string which = "describe: step " + std::to_string(i);
    expect(step.op && *step.op, which + " has no op");
    expect(step.node == TENON_NONE || step.node < d.graph.n_nodes(), which + " is named after no node");
    expect(uint64_t{step.nodes.first} + step.nodes.count <= d.nodes.size(), which + " does nodes beyond the list");
    for (uint32_t k = 0; k < step.nodes.count; ++k) {
      const uint32_t node = d.nodes[step.nodes.first + k];
      expect(node < d.graph.n_nodes(), which + " does node " + std::to_string(node));
      expect(done.insert({step.unit, node}).second, which + " does node " + std::to_string(node) + " once more");
    }
  }
  expect(!done.empty(), "describe: no step does any of the graph's nodes");
}

bool lie_apart(const tenon_plan_buffer& a, const tenon_plan_buffer& b) {
  const bool at_once = a.first <= b.last && b.first <= a.last;
  return !at_once || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
}

void keeps_what_is_alive_apart(Subject& s) {
  const plugin::FlatGraph flat = graph_of_a_step();
  const Described d(s, flat);
  const uint64_t workspace = d.program.info().workspace_bytes;
  for (size_t i = 0; i < d.buffers.size(); ++i) {
    const tenon_plan_buffer& b = d.buffers[i];
    const std::string which = "describe: buffer " + std::to_string(i);
    expect(b.first <= b.last && b.last < d.steps.size(),
           which + " is alive from step " + std::to_string(b.first) + " to " + std::to_string(b.last));
    if (b.memory != TENON_PLAN_WORKSPACE) continue;
    expect(b.offset + b.bytes <= workspace, which + " ends beyond the workspace");
    for (size_t k = 0; k < i; ++k)
      expect(d.buffers[k].memory != TENON_PLAN_WORKSPACE || lie_apart(b, d.buffers[k]),
             which + " lies where buffer " + std::to_string(k) + " does, while both are alive");
  }
}

void gives_values_room(Subject& s) {
  const plugin::FlatGraph flat = graph_of_a_step();
  const Described d(s, flat);
  for (size_t i = 0; i < d.values.size(); ++i) {
    const tenon_plan_value& v = d.values[i];
    const std::string which = "describe: value " + std::to_string(i);
    expect(v.node < d.graph.n_nodes() && v.buffer < d.buffers.size(), which + " is of no node, or in no buffer");
    const tenon_plan_buffer& b = d.buffers[v.buffer];
    expect(v.offset + v.bytes <= b.bytes, which + " ends beyond its buffer");
    const plugin::NodeView node = d.graph.node(v.node);
    if (v.result == TENON_NONE) continue;
    expect(v.result < static_cast<uint32_t>(node.results()), which + " is no result of its node");
    expect(v.bytes >= static_cast<uint64_t>(node.out(static_cast<int>(v.result)).bytes()),
           which + " has " + std::to_string(v.bytes) + " bytes, less than its elements");
  }
}

}  // namespace

void add_description_tests(Tests& tests) {
  const auto add = [&](const char* name, void (*run)(Subject&)) {
    add_test(tests, "program", "plan", name, run, 1).required = false;
  };
  add("names each node once", names_each_node_once);
  add("keeps what is alive apart", keeps_what_is_alive_apart);
  add("gives values room", gives_values_room);
}

}  // namespace tenon::conformance
