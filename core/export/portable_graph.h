// A graph for any number of rows: what is exported. Tenon's graphs have static shapes; here each number of a shape or an attribute is
// `base + each * rows`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "step/trace.h"
#include "tenon/features.h"
#include "tenon/outputs.h"

namespace tenon {

struct PerRows {
  int64_t base = 0, each = 0;
  int64_t at(int64_t rows) const { return base + each * rows; }
  bool operator==(const PerRows&) const = default;
};

struct PortableValue {
  DType dtype = DType::kNone;
  std::vector<PerRows> dims;
  Type at(int64_t rows) const;
};

struct PortableAttr {
  std::string name;
  AttrValue value;            // at 0 rows, where it depends on them
  std::vector<int64_t> each;  // of an i64 or its list: what each row adds; empty: nothing
  AttrValue at(int64_t rows) const;
};

struct PortableNode {
  std::string op, name;
  int version = 1;
  std::vector<int> operands, results;  // indices of values; -1: absent
  std::vector<PortableAttr> attrs;
};

struct PortableInput {
  std::string name;
  int value = 0;
  bool variable = false;  // else a feature
};

struct PortableResult {
  std::string name;
  int value = 0;
};

// Plain data. Nodes stand in topological order; each value is an input or a result of one node.
struct PortableGraph {
  std::vector<PortableValue> values;
  std::vector<PortableInput> inputs;
  std::vector<PortableNode> nodes;
  std::vector<PortableResult> results;

  // Every index in range, every value defined once and before its use; kInvalid says what is not.
  Status verify() const;
};

// Makes it of a function that traces the same program for any number of rows, which is called for three of them. An error names the node
// that depends on the number of rows in another way, draws random numbers, or changes a variable.
Result<PortableGraph> portable(const std::function<Result<Trace>(int64_t rows)>& trace);

// Only what these results need, by name.
PortableGraph part_of(const PortableGraph& graph, const std::vector<std::string>& results);

// The same graph with each composite of which `keep` says no replaced by primitives.
Result<PortableGraph> decomposed(const PortableGraph& graph, const std::function<bool(const PortableNode& node)>& keep);

// Builds the nodes in the graph of these features, whose rows it takes from them; its results. Throws Error.
Outputs build(const PortableGraph& graph, const Features& features);

}  // namespace tenon
