#include "corpus/case.h"

#include <algorithm>
#include <set>

#include "backend/device.h"
#include "base/strings.h"
#include "compile/compile.h"
#include "compile/rewrite.h"
#include "op/op.h"

namespace tenon::corpus {
namespace {

// Ops whose result picks among elements: a moved input would pick another.
constexpr std::string_view kSelecting[] = {"max_pool", "max_pool_grad", "affine_image"};

bool composite(const Node& node) { return !find_op(node.op, node.version)->primitive(); }

void check(const Case& c, const Graph& graph, std::string_view which) {
  const Status status = verify(graph);
  if (!status.ok()) fail(c.op, " '", c.name, "', ", which, ": ", status.message());
}

// The node alone, its present operands as inputs, in primitives.
Graph decomposed(const Graph& from, const Node& node) {
  Graph graph;
  Tensors operands;
  for (ValueId v : node.operands)
    operands.push_back(v < 0 ? Tensor()
                             : Tensor(&graph, graph.add_input(from.type(v), Role::kFeed, cat("x", operands.size()))));
  for (const Tensor& t : emit(graph, node.op, operands, node.attrs, node.name)) graph.results.push_back({t.id()});
  Graph lowered = lower_to_primitives(graph);
  ask_for_f32(lowered);
  return lowered;
}

}  // namespace

Input uniform(DType dtype, const Shape& shape, uint64_t seed, double low, double high) {
  Fill fill;
  fill.kind = Fill::kUniform;
  fill.seed = seed;
  fill.low = low;
  fill.high = high;
  return {{dtype, shape}, std::move(fill)};
}

Input powers(DType dtype, const Shape& shape, uint64_t seed) {
  Input input = uniform(dtype, shape, seed);
  input.fill.kind = Fill::kPowers;
  return input;
}

Input values(DType dtype, const Shape& shape, Doubles values) {
  Fill fill;
  fill.kind = Fill::kValues;
  fill.values = std::move(values);
  return {{dtype, shape}, std::move(fill)};
}

Input one(DType dtype, double value, Role role) {
  Input input = values(dtype, {}, {value});
  input.role = role;
  return input;
}

void ask_for_f32(Graph& graph) {
  for (Node& node : graph.nodes)
    for (Attr& a : node.attrs)
      if (a.name == "precision") a.value = Enum{static_cast<int32_t>(MathPrecision::kHighest)};
}

plugin::FlatGraph flat(const Graph& graph) {
  const GraphImage image = flatten(graph);
  return plugin::adopt(*image.flat(), image.flat()->data);
}

void set_graphs(Case& c, Graph graph) {
  check(c, graph, "whole");
  c.whole = flat(graph);
  uint32_t node = 0;
  for (const Node& n : graph.nodes) {
    if (n.op == "constant") continue;  // no node of a flat graph
    c.selects |= std::find(std::begin(kSelecting), std::end(kSelecting), n.op) != std::end(kSelecting);
    if (composite(n)) {
      const Graph lowered = decomposed(graph, n);
      check(c, lowered, "decomposed");
      c.decompositions.push_back({node, flat(lowered)});
    }
    ++node;
  }
  if (c.decompositions.empty()) {
    c.lowered = flat(graph);
    return;
  }
  Graph lowered = lower_to_primitives(graph);
  // What was asked for stays; what decompositions brought in is asked for at f32.
  ask_for_f32(lowered);
  check(c, lowered, "lowered");
  c.lowered = flat(lowered);
}

Tensors add_inputs(Graph& graph, const Inputs& inputs) {
  Tensors out;
  for (size_t i = 0; i < inputs.size(); ++i)
    out.emplace_back(&graph, graph.add_input(inputs[i].type, inputs[i].role, cat("x", i)));
  return out;
}

namespace {

// The definition's graph and, in the case, the fills of the inputs that it uses.
Graph build(const Definition& d, Case& c, const std::vector<int>& state = {}) {
  c.op = d.op;
  c.name = d.name;
  c.order = d.order;
  Graph graph;
  for (const Tensor& t : d.build(add_inputs(graph, d.inputs)))
    if (t) graph.results.push_back({t.id()});
  for (size_t r = 0; r < state.size(); ++r) graph.results.at(r).alias = state[r];
  Graph pruned = prune_inputs(graph);
  for (const GraphInput& input : pruned.inputs) c.inputs.push_back(d.inputs[std::stoul(input.name.substr(1))].fill);
  const auto about = [&d](const Node& n) { return n.op == d.op; };
  if (std::none_of(pruned.nodes.begin(), pruned.nodes.end(), about)) fail(c.op, " '", c.name, "': has no such node");
  return pruned;
}

}  // namespace

Case op_case(const Definition& definition) {
  Case c;
  Graph graph = build(definition, c);
  ask_for_f32(graph);
  set_graphs(c, std::move(graph));
  return c;
}

Case op_case_as_built(const Definition& definition) {
  Case c;
  set_graphs(c, build(definition, c));
  return c;
}

Case state_case(Case::Kind kind, const Definition& definition, uint32_t steps, const std::vector<int>& state) {
  Case c;
  c.kind = kind;
  c.steps = steps;
  Graph graph = build(definition, c, state);
  ask_for_f32(graph);
  set_graphs(c, std::move(graph));
  return c;
}

}  // namespace tenon::corpus
