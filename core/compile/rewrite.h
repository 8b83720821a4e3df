// The passes that a graph goes through before a backend sees it. Each builds a new graph.
#pragma once

#include <functional>

#include "op/op.h"

namespace tenon {

// Copies a graph node by node. Inputs, variables and results are carried over; only nodes that a result
// or a variable's next value depends on are visited.
class Rewrite {
 public:
  explicit Rewrite(const Graph& from);

  // What becomes of a node: its results in to(), one a result. Called in topological order.
  using Visit = std::function<Tensors(const Node& node, const Tensors& operands)>;
  Graph run(const Visit& visit);

  Graph& to() { return to_; }
  // Copies the node as it is (its name is kept, since names of the old graph are unique).
  Tensors copy(const Node& node, const Tensors& operands);

 private:
  std::vector<bool> live_nodes() const;
  const Graph& from_;
  Graph to_;
  std::vector<Tensor> map_;       // old value -> new tensor
  std::vector<NodeId> node_map_;  // old node -> the new one that defines its first result; -1: gone
};

// How many operands and results each value is.
std::vector<int> count_uses(const Graph& graph);

// Dead code, common subexpressions, constant folding and identities (x * 1, x + 0, a reshape of a
// reshape, a broadcast scalar). Values do not change, except that folded constants are rounded once.
Graph simplify(const Graph& graph);

// Moves the gradients of activations in front of those of max-pools, where there is less to do. Part of simplify.
Graph activate_before_pooling(const Graph& graph);

// Computes a product or convolution once that is there with its activation and without, for the activation's gradient. Part
// of simplify.
Graph set_activations_apart(const Graph& graph);

// Gives updates the rows that an embedding's gradient has, where nothing else reads that gradient.
Graph give_rows_to_updates(const Graph& graph);
// Whether a node is an update with rows; and the same update of a dense gradient, in its place.
bool has_rows(const Node& node);
Tensors dense_update(Rewrite& rewrite, const Node& node, const Tensors& operands);

// The nodes in another order, which is topological too: order[i] becomes node i.
Graph in_order(Graph graph, const std::vector<NodeId>& order);

// Leaves out the inputs that nothing uses, and the variables that went with them; or FEED inputs only.
Graph prune_inputs(const Graph& graph, bool feeds_only = false);

// The results of a variable's next value are graph results that alias its input.
void add_state_results(Graph& graph);

}  // namespace tenon
