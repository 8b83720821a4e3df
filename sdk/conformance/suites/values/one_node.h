// One node of a graph as a graph of its own, as it is or changed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "conformance/corpus/corpus.h"
#include "conformance/host/subject.h"

namespace tenon::conformance {

// What is changed when a node is copied.
struct Change {
  uint32_t version = 0;  // another version, where not 0
  int32_t dtype = 0;     // of `operand` and, if that is 0, the results of the same dtype, where not 0
  int operand = 0;
  int32_t result_dtype = 0;    // of the first result, where not 0
  std::string enum_attribute;  // this one gets enum_value
  int64_t enum_value = 9999;
  std::string more;      // one attribute more, i64 1
  std::string less;      // this one is left out
  bool scalars = false;  // operands of rank 0 are run-time scalars
};

// Its operands are states, its results are results.
plugin::FlatGraph one_node_graph(const plugin::NodeView& node, const Change& change = {});

// A node of the corpus and where it stands.
struct Sample {
  const plugin::FlatGraph* graph;
  uint32_t node;
  plugin::NodeView view() const { return plugin::GraphView(*graph->graph()).node(node); }
};

// The corpus's nodes by op, those alone that differ in attributes or in their values' dtype or shape; none of cases that
// need much memory.
const std::map<std::string, std::vector<Sample>>& samples();

}  // namespace tenon::conformance
