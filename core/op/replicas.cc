#include "op/replicas.h"

#include <algorithm>

#include "op/op.h"

namespace tenon {

Tensor over_replicas(Tensor x, ReduceKind kind) { return x.graph()->replicas == 1 ? x : all_reduce({x}, kind)[0]; }

Tensors sums_over_replicas(const Tensors& xs) {
  return xs.empty() || xs[0].graph()->replicas == 1 ? xs : all_reduce(xs, ReduceKind::kSum);
}

Tensors means_over_replicas(const Tensors& xs) {
  if (xs.empty() || xs[0].graph()->replicas == 1) return xs;
  Tensors means = sums_over_replicas(xs);
  for (Tensor& x : means) x = x * (1.0 / x.graph()->replicas);
  return means;
}

Tensor mean_over_replicas(Tensor x) { return means_over_replicas({x})[0]; }

Type joined_type(const Graph& graph, ValueId value, bool split) {
  Type type = graph.type(value);
  if (split && type.shape.rank() > 0) type.shape.set(0, type.shape[0] * graph.replicas);
  return type;
}

namespace {

// What the replicas have in common once this node is through: all of them took part.
bool joins_all(const Graph& graph, const Node& node) {
  if (node.op != "all_reduce" && node.op != "all_gather") return false;
  const int64_t group = AttrReader(node.attrs).i64("group");
  return group == 0 || group == graph.replicas;
}

}  // namespace

bool draws_per_replica(const Node& node) {
  const AttrReader attrs(node.attrs);
  if (node.op == "random") return attrs.flag("per_replica");
  if (node.op == "attention" || node.op == "attention_grad") return attrs.f64("rate") > 0;
  return node.op == "dropout" || node.op == "replica_id";
}

std::vector<bool> varying_values(const Graph& graph) {
  std::vector<bool> varying(graph.values.size(), false);
  for (const GraphInput& input : graph.inputs) varying[input.value] = input.split;
  for (const Node& node : graph.nodes) {
    bool any = draws_per_replica(node);
    for (ValueId v : node.operands) any = any || (v >= 0 && varying[v]);
    if (joins_all(graph, node)) any = false;
    for (ValueId v : node.results) varying[v] = any;
  }
  return varying;
}

}  // namespace tenon
