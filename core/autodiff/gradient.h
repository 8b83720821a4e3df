// Reverse-mode differentiation: adds the gradient's nodes to the graph (tenon/gradients.h). They carry phase kBackward and
// forward_of. Composites without a gradient rule, or whose rule passes, are differentiated through their decomposition.
#pragma once

#include "op/op.h"
#include "tenon/gradients.h"

namespace tenon {

// The composite's decomposition as nodes of `graph`: one tensor a result. Names are put under the
// node's name; the new nodes carry its phase, origin and composite_of.
Tensors decompose_node(Graph& graph, const OpDef& op, const Node& node, const Tensors& operands);

}  // namespace tenon
