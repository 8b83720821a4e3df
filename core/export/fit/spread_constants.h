// Constants whose values depend on the number of rows, as nodes that make them for any number of rows.
#pragma once

#include <array>
#include <cstdint>

#include "graph/graph.h"

namespace tenon {

// The same program's graphs, traced for so many rows each.
struct TracedRows {
  std::array<int64_t, 3> rows;
  std::array<Graph, 3> graphs;
};

// A constant whose elements are the same formula of the element's place i along an axis that grows with the rows r,
// `base + step * i + each * r`, in all three graphs becomes an iota, a count of rows, and their arithmetic; one whose elements
// are all the same number becomes one that this number fills. Floats that this arithmetic would round, and any other
// constant, stay as they are. Does nothing where the graphs' nodes are not the same.
void spread_constants(TracedRows& traced);

}  // namespace tenon
