// Nodes of ops that are none of Tenon's (tenon/custom_op.h): what takes the place of a row of the table of ops and of an OpDef.
#pragma once

#include "op/op.h"
#include "tenon/custom_op.h"

namespace tenon {

// What a node of a custom op brings along; its copies in other graphs share it.
struct CustomNode {
  std::vector<Type> results;
  CustomRules rules;
};

// REQUIRED, of these: node.custom.
std::vector<Type> infer_custom(const Node& node);
Tensors decompose_custom(Graph& graph, const Node& node, const Tensors& operands);
// None at all: the decomposition is to be differentiated.
Tensors custom_gradient(const Node& node, const Gradient& context);

}  // namespace tenon
