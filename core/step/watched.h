// What print() and check_numerics() of a traced function watch: small results of their own, a row a step.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "tenon/array.h"
#include "tenon/status.h"

namespace tenon {

// So many elements for each of the dynamic dimensions that it is made of.
struct WatchedAxis {
  int64_t fixed = 1;
  std::vector<std::string> dims = {};
};

struct Watched {
  std::string result;  // of the graph
  std::string name;
  bool check;  // a row says whether there is NaN, and whether there is infinity; else it has the tensor's edges
  DType dtype;
  std::vector<WatchedAxis> axes;  // on one unit
  int units;                      // that have axis 0 one after the other; 1 where all have the same
};

// Adds results for what the function watches. REQUIRED: its own were added.
std::vector<Watched> add_watches(Graph& graph);

// An error where what is checked is not finite; else shows what is printed. The row is that of one step with these sizes.
Status show_watched(const Watched& watched, const Array& row, int64_t step, const DimensionSizes& sizes);

}  // namespace tenon
