// What the tests of cpu.so's rewriting share: a graph that is written node by node, and what becomes of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fused_graph.h"
#include "tenon/plugin/graph_builder.h"
#include "tenon/plugin/matcher.h"

namespace tenon::testing {

using plugin::GraphBuilder;
using plugin::GraphView;
using Shape = std::vector<int64_t>;
using Names = std::vector<std::string>;

struct RewritingGraph {
  uint32_t input(const Shape& dims, int32_t dtype = TENON_F32) {
    return graph.input(dtype, dims, TENON_ROLE_FEED, "input " + std::to_string(inputs++));
  }

  // The ops of the graph as it is now, rewritten; where nothing is, of the graph itself.
  Names rewritten() {
    given = graph.build();
    out = cpu::rewrite(GraphView(*given.graph()), plugin::Env{});
    Names names;
    for (uint32_t i = 0; i < after().n_nodes(); ++i) names.emplace_back(node(i).op());
    return names;
  }
  bool stays() {
    rewritten();
    return out.origins.empty();
  }

  // The graph after rewritten(), and a node of it.
  GraphView after() const { return plugin::graph_after(out, GraphView(*given.graph())); }
  plugin::NodeView node(uint32_t i) const { return after().node(i); }

  GraphBuilder graph;
  plugin::FlatGraph given;
  plugin::Rewritten out;
  int inputs = 0;
};

}  // namespace tenon::testing
