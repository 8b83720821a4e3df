// A composite as the primitives that define it, and a vendor's op as what model code said it is.
#pragma once

#include <string>

#include "op/op.h"

namespace tenon {

// Restores what a graph stamps on new nodes when it ends.
class Stamp {
 public:
  explicit Stamp(Graph& graph)
      : graph_(graph),
        phase_(graph.phase),
        forward_(graph.forward_of),
        origin_(graph.origin),
        composite_(graph.composite_of),
        scope_(graph.scope()) {}
  ~Stamp() {
    graph_.phase = phase_;
    graph_.forward_of = forward_;
    graph_.origin = origin_;
    graph_.composite_of = composite_;
    graph_.set_scope(scope_);
  }
  Stamp(const Stamp&) = delete;
  Stamp& operator=(const Stamp&) = delete;

 private:
  Graph& graph_;
  Phase phase_;
  NodeId forward_;
  std::string origin_, composite_, scope_;
};

// The composite's decomposition as nodes of `graph`: one tensor a result. Names are put under the
// node's name; the new nodes carry its phase, origin and composite_of.
Tensors decompose_node(Graph& graph, const Node& node, const Tensors& operands);

// The same in the place of a node that is not in the graph yet, of results of these types. `name`: of the node, in its scope.
Tensors emit_decomposed(Graph& graph, Node node, const std::vector<Type>& types, const std::string& name);

}  // namespace tenon
