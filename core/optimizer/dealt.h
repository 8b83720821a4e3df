// A variable of which each replica updates a part, and keeps that part of its slots (share/doc/adr/0026-sharded-optimizer-state.md).
#pragma once

#include <string_view>

#include "graph/graph.h"
#include "tenon/ops.h"

namespace tenon {

// The elements in a row, and zeros behind them, in as many equal parts as there are replicas.
class Dealt {
 public:
  // Whether the graph's replicas deal a variable of that shape. Small ones are whole.
  static bool deals(const Graph& graph, const Shape& whole);
  Dealt(const Graph& graph, const Shape& whole);

  const Shape& whole() const { return whole_; }
  const Shape& part() const { return part_; }
  // This replica's part of what all of them have alike.
  Tensor own(Tensor whole) const;
  // This replica's part of the sum over all of them.
  Tensor sum(Tensor whole) const;
  // What all parts are together.
  Tensor joined(Tensor part) const;

 private:
  Tensor row(Tensor whole) const;
  Shape whole_, part_;
  int64_t replicas_;
};

// Throws Error unless the nodes from `first` on, which an update of a part consists of, treat each element by itself.
void expect_pointwise(const Graph& graph, size_t first, std::string_view optimizer);
// The error of an optimizer that cannot update parts, and why.
[[noreturn]] void fail_at_parts(std::string_view optimizer, std::string_view why);

}  // namespace tenon
