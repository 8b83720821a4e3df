// What print() and check_numerics() of a traced function watch: small results of their own, a row a step.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "tenon/array.h"
#include "tenon/status.h"

namespace tenon {

struct Watched {
  std::string result;  // of the graph
  std::string name;
  bool check;  // a row says whether there is NaN, and whether there is infinity; else it has the tensor's edges
  Type whole;  // of the tensor on all units
};

// Adds results for what the function watches. REQUIRED: its own were added.
std::vector<Watched> add_watches(Graph& graph);

// An error where what is checked is not finite; else shows what is printed. The row is that of one step.
Status show_watched(const Watched& watched, const Array& row, int64_t step);

// "[[1 2 3 ... 7 8 9]\n ...": a tensor of shape `whole`, of which `edges` has along each axis longer than 6 at least the
// first and last three.
std::string edges_text(const Array& edges, const Shape& whole);

}  // namespace tenon
