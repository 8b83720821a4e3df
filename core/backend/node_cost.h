// What the nodes of a graph cost at least, as backends count it for profiles.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/device.h"

namespace tenon {

struct NodeCost {
  uint64_t flops = 0, bytes = 0;  // arithmetic; operands and results once each
};
// The cost of each node of the image, in its order. REQUIRED: it is finished.
std::vector<NodeCost> node_costs(const GraphImage& image);

}  // namespace tenon
