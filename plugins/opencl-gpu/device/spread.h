// Values that are read by index arithmetic where they would be broadcast, or a part of them would be copied.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "tenon/plugin/graph.h"

namespace opencl_gpu {

// An element of a value by the row-major index i of another: `start`, and the sum over axes, outermost first, of the index
// along that axis times its stride. No axes: element i.
struct Spread {
  std::vector<int64_t> n, stride;
  int64_t start = 0;
  bool operator==(const Spread& o) const { return n == o.n && stride == o.stride && start == o.start; }
};

// How the result of a broadcast or a slice is read from its operand.
Spread spread_of(const tenon::plugin::NodeView& node);

// Where the elements of a slice lie in its operand: strides along its axes, and the first one.
struct SlicedFrom {
  std::vector<int64_t> strides;
  int64_t start = 0;
};
SlicedFrom sliced_from(const tenon::plugin::NodeView& slice);

// The axes that some spreads of one index have in common: each of theirs is one of these or several neighbours.
class JointAxes {
 public:
  explicit JointAxes(int64_t elements) : cuts_{1, elements} {}
  // false, and nothing changes: there are none, or they are more than kMost, or the last one would be shorter than
  // `run`.
  bool add(const Spread& spread, int64_t run);
  std::vector<int64_t> sizes() const;  // outermost first
  // Along each; of a value that is not spread the dense strides.
  std::vector<int64_t> strides(const Spread& spread) const;

  static constexpr size_t kMost = 4;

 private:
  std::set<int64_t> cuts_;  // distances at which axes begin, and the number of elements
};

}  // namespace opencl_gpu
