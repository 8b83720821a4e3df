// A node of a graph, as it is shown.
#pragma once

#include <string>
#include <vector>

#include "tenon/types.h"

namespace tenon {

// Names with slashes are folded: "block1/conv". An input is the name of a node, or NAME:1 for its second result.
struct GraphNode {
  std::string name, op;
  std::vector<std::string> inputs = {};
  std::vector<Type> results = {};
};

}  // namespace tenon
