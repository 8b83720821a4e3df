#include "compile/rewrite.h"

namespace tenon {

Rewrite::Rewrite(const Graph& from) : from_(from), map_(from.values.size()), node_map_(from.nodes.size(), -1) {
  for (const GraphInput& input : from.inputs) {
    const ValueId id = to_.add_input(from.type(input.value), input.role, input.name);
    to_.inputs.back().split = input.split;
    to_.inputs.back().scalar = input.scalar;
    map_[input.value] = Tensor(&to_, id);
  }
  to_.variables = from.variables;
  to_.replicas = from.replicas;
  to_.mode = from.mode;
  for (const Node& node : from.nodes) to_.unique_name_taken(node.name);
}

std::vector<int> count_uses(const Graph& graph) {
  std::vector<int> uses(graph.values.size());
  for (const Node& node : graph.nodes)
    for (ValueId v : node.operands)
      if (v >= 0) ++uses[v];
  for (const Output& r : graph.results) ++uses[r.value];
  return uses;
}

std::vector<bool> Rewrite::live_nodes() const {
  std::vector<bool> live(from_.nodes.size(), false);
  const auto mark = [&](ValueId v) {
    if (v >= 0 && from_.values[v].node >= 0) live[from_.values[v].node] = true;
  };
  for (const Output& r : from_.results) mark(r.value);
  for (size_t i = from_.nodes.size(); i-- > 0;)
    if (live[i])
      for (ValueId v : from_.nodes[i].operands) mark(v);
  return live;
}

Tensors Rewrite::copy(const Node& node, const Tensors& operands) {
  Node copied = node;
  copied.operands.clear();
  for (const Tensor& t : operands) copied.operands.push_back(t ? t.id() : kAbsent);
  copied.results.clear();
  const NodeId id = static_cast<NodeId>(to_.nodes.size());
  Tensors out;
  for (size_t i = 0; i < node.results.size(); ++i) {
    copied.results.push_back(static_cast<ValueId>(to_.values.size()));
    to_.values.push_back({from_.type(node.results[i]), id, static_cast<int>(i), {}});
    out.emplace_back(&to_, copied.results.back());
  }
  to_.nodes.push_back(std::move(copied));
  return out;
}

Graph Rewrite::run(const Visit& visit) {
  const std::vector<bool> live = live_nodes();
  for (size_t i = 0; i < from_.nodes.size(); ++i) {
    if (!live[i]) continue;
    const Node& node = from_.nodes[i];
    Tensors operands;
    for (ValueId v : node.operands) operands.push_back(v < 0 ? Tensor() : map_[v]);
    const size_t first = to_.nodes.size();
    const Tensors results = visit(node, operands);
    for (size_t n = first; n < to_.nodes.size(); ++n)
      if (NodeId& forward = to_.nodes[n].forward_of; forward >= 0) forward = node_map_[forward];
    if (!results.empty()) node_map_[i] = to_.values[results[0].id()].node;
    for (size_t r = 0; r < results.size(); ++r) map_[node.results[r]] = results[r];
  }
  for (const Output& r : from_.results) {
    Output copied = r;
    copied.value = map_[r.value].id();
    to_.results.push_back(std::move(copied));
  }
  for (Variable& v : to_.variables)
    if (v.next != kAbsent) v.next = map_[v.next] ? map_[v.next].id() : kAbsent;
  return std::move(to_);
}

Graph in_order(Graph graph, const std::vector<NodeId>& order) {
  std::vector<NodeId> now(order.size());
  std::vector<Node> nodes;
  for (const NodeId n : order) {
    now[n] = static_cast<NodeId>(nodes.size());
    nodes.push_back(std::move(graph.nodes[n]));
  }
  for (Value& v : graph.values)
    if (v.node >= 0) v.node = now[v.node];
  for (Node& node : nodes)
    if (node.forward_of >= 0) node.forward_of = now[node.forward_of];
  graph.nodes = std::move(nodes);
  return graph;
}

Graph prune_inputs(const Graph& graph, bool feeds_only) {
  std::vector<bool> used(graph.values.size(), false);
  for (const Node& node : graph.nodes)
    for (ValueId v : node.operands)
      if (v >= 0) used[v] = true;
  for (const Output& r : graph.results) {
    used[r.value] = true;
    if (r.alias >= 0) used[graph.inputs[r.alias].value] = true;
  }
  Graph out = graph;
  out.inputs.clear();
  out.variables.clear();
  std::vector<int> index(graph.inputs.size(), -1);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (!used[graph.inputs[i].value] && (!feeds_only || graph.inputs[i].role == Role::kFeed)) continue;
    index[i] = static_cast<int>(out.inputs.size());
    out.values[graph.inputs[i].value].index = index[i];
    out.inputs.push_back(graph.inputs[i]);
  }
  for (Output& r : out.results)
    if (r.alias >= 0) r.alias = index[r.alias];
  for (Variable v : graph.variables)
    if (index[v.input] >= 0) v.input = index[v.input], out.variables.push_back(std::move(v));
  return out;
}

void add_state_results(Graph& graph) {
  for (const Variable& v : graph.variables)
    if (v.next != kAbsent) graph.results.push_back({v.next, ResultMode::kLast, v.input, v.dealt.has_value(), v.name});
}

}  // namespace tenon
