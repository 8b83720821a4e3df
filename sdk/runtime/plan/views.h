// Which values of a graph lie in the memory of others: what reshapes and slices of rows give, and what is only made
// to be joined, row behind row.
#pragma once

#include <vector>

#include "tenon/plugin/graph.h"

namespace tenon::plugin {

struct Views {
  // For each value the one whose memory it lies in, itself for the most part, and where in it, in bytes. A value that
  // is a result of the graph, or a reshape of one, covers the whole of its root.
  std::vector<uint32_t> root;
  std::vector<uint64_t> offset;
  std::vector<bool> idle;  // each node: it moves nothing; what is joined is written by the nodes that make its parts
};

Views find_views(const GraphView& graph);

}  // namespace tenon::plugin
