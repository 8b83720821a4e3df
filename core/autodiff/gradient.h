// Reverse-mode differentiation: adds the gradient's nodes to the graph.
#pragma once

#include "op/op.h"

namespace tenon {

// The gradients of the scalar `loss` (a float of rank 0) by each of `variables`, in order; an empty
// tensor where the loss does not depend on it. New nodes carry phase kBackward and forward_of.
// Composites without a gradient rule, or whose rule passes, are differentiated through their decomposition;
// through primitives without one (floor, round) no gradient flows.
Tensors gradients(Tensor loss, const Tensors& variables);

// The composite's decomposition as nodes of `graph`: one tensor a result. Names are put under the
// node's name; the new nodes carry its phase, origin and composite_of.
Tensors decompose_node(Graph& graph, const OpDef& op, const Node& node, const Tensors& operands);

}  // namespace tenon
