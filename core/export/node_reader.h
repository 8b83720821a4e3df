// A node of a graph that is exported, as rules read it that write it in another format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "export/portable_graph.h"
#include "tenon/ops.h"

namespace tenon {

using Dims = std::vector<PerRows>;

inline PerRows fixed(int64_t number) { return {number, 0}; }
Dims fixed(const Ints& numbers);
PerRows sum(const PerRows& a, const PerRows& b);
PerRows times(const PerRows& a, int64_t b);
// The product of dims [begin, end). Throws Lacking where the number of rows is in it twice.
PerRows product(const Dims& dims, size_t begin, size_t end);

// What the other format cannot say; thrown for one node, gathered for all.
struct Lacking {
  std::string why;
};

// All may throw Lacking.
class NodeReader {
 public:
  NodeReader(const PortableGraph& graph, const PortableNode& node) : graph_(graph), node_(node) {}

  int operands() const { return static_cast<int>(node_.operands.size()); }
  bool has(int i) const { return i >= 0 && i < operands() && node_.operands[static_cast<size_t>(i)] >= 0; }
  const PortableValue& type(int i) const;        // of an operand
  const PortableValue& result(int i = 0) const;  // what is asked for
  DType dtype(int i = 0) const { return type(i).dtype; }
  const Dims& dims(int i = 0) const { return type(i).dims; }
  int rank(int i = 0) const { return static_cast<int>(type(i).dims.size()); }
  const PortableNode* maker(int i) const;  // the node that operand i is a result of; nullptr: an input
  // Whether all numbers of an integer operand are known to lie in [0, size), as it is a constant of such.
  bool lies_inside(int i, const PerRows& size) const;

  // Attributes; those that are missing have the value that the table of ops says. A list that is empty, or missing, is `size` such.
  int64_t number(std::string_view name) const;
  double real(std::string_view name) const;
  bool flag(std::string_view name) const;
  DType dtype(std::string_view name) const;
  int choice(std::string_view name) const;  // of an enum
  const std::string& bytes(std::string_view name) const;
  Dims list(std::string_view name, int size = 0) const;
  Ints fixed_list(std::string_view name, int size = 0) const;  // Lacking where it depends on the rows

  // bf16 and f16 are computed in f32 and rounded once a node.
  static DType wide(DType dtype) { return dtype == DType::kBF16 || dtype == DType::kF16 ? DType::kF32 : dtype; }

 protected:
  const PortableGraph& graph() const { return graph_; }
  const PortableNode& node() const { return node_; }

 private:
  const PortableAttr* find(std::string_view name) const;
  AttrValue attribute(std::string_view name) const;

  const PortableGraph& graph_;
  const PortableNode& node_;
};

}  // namespace tenon
