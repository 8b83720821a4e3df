// Graphs of many nodes by chance: what whoever plans memory branches on. Views of views, values that are joined, chains
// that may be computed in place, states that are handed around, results that are read again, results nobody reads.
//
// All numbers are whole and small, so that nothing is rounded and any difference is a fault. Everything here throws
// std::runtime_error or nothing.
#pragma once

#include "conformance/sample/sampler.h"

namespace tenon::conformance {

struct GraphFamily {
  const char* name;
  int64_t states;                // at most
  std::vector<const char*> ops;  // what nodes are drawn from; more often what stands there more often
};
const std::vector<GraphFamily>& graph_families();

// `what` lists the nodes.
Drawn draw_graph(Sampler& sampler, const GraphFamily& family);

}  // namespace tenon::conformance
