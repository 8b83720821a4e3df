// Broadcasts that need not be done: other formats' arithmetic repeats axes of size 1 by itself.
#pragma once

#include <vector>

#include "export/portable_graph.h"

namespace tenon {

// Results of broadcasts that may stay narrow: all that read them are arithmetic, beside an operand that has the whole shape.
class NarrowValues {
 public:
  explicit NarrowValues(const PortableGraph& graph);
  bool has(int value) const { return narrow_[static_cast<size_t>(value)]; }

 private:
  bool may_stay(int value) const;
  bool has_whole_operand(const PortableNode& node, int beside) const;

  const PortableGraph& graph_;
  std::vector<bool> narrow_;
  std::vector<std::vector<const PortableNode*>> readers_;
};

}  // namespace tenon
