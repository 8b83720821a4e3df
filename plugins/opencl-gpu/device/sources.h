// What a generated kernel reads and writes for each element of a map, as text in front of kernels/element/map.cl or
// reductions.cl.
#pragma once

#include <string>
#include <vector>

#include "device/launch.h"

namespace opencl_gpu {

// The source for a node whose operands x0, x1, .. have its elements, or are read by index as its attributes "axes" (sizes,
// outermost first), "strides" (of each operand along each of them) and "starts" (the first element of each) say. `body` is
// OpenCL C: it reads x0, x1, .. and defines y0, y1, .., which are the node's results from number `first` on.
class Sources {
 public:
  Sources(const NodeView& node, uint64_t elements, const std::string& body, int first = 0);

  // Defines PARAMETERS, and POINTERS, RUN, BASES, VALUES, STORES as kernels/element/map.cl uses them.
  const std::string& text() const { return text_; }
  // Adds PARAMETERS to a launch.
  void add(Launch& launch) const;
  // The pairs that may be the same memory: each element is read before it is written, but for one that serves several.
  void allow_in_place(Kernel& kernel) const;

 private:
  struct Operand {
    int32_t dtype;
    bool dense, once;  // element i; the same for all
    std::vector<int64_t> stride;
    int64_t start = 0;
  };
  bool is_indexed(const Operand& o) const { return !o.dense && !o.once; }
  void find_operands(const NodeView& node, uint64_t elements);
  void write(const std::string& body, bool narrow);
  std::string indices() const;

  std::vector<int64_t> axes_;
  std::vector<Operand> operands_;
  std::vector<int32_t> results_;  // dtypes
  int first_;
  bool any_indexed_ = false;
  std::string text_;
};

}  // namespace opencl_gpu
