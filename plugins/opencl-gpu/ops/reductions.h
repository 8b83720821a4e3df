// Folds of one axis into a value, as launches: reduce, and what composites sum up.
#pragma once

#include <functional>

#include "device/sources.h"

namespace opencl_gpu {

// A reduce whose operand is a map of other operands: an own node, which fuse_chains puts in. Result 0 is reduce's;
// what else reads of the map comes behind. Attributes: kind; "folded", the axes; "dims", of the map; and those of
// sources.h.
constexpr char kFoldedMap[] = "opencl-gpu.fold";

// x[a, r, b] becomes y[a, b].
struct FoldShape {
  uint64_t a, r, b;
};

// Adds an operand, a result or scratch to a launch.
using Argument = std::function<void(Launch&)>;
Argument operand(int i);
Argument result(int i);
Argument scratch_at(uint64_t offset);

struct Fold {
  int32_t from;                      // x's dtype
  int32_t sums;                      // kept in, while there is more to come
  int32_t to;                        // y's dtype
  std::string kind;                  // sum prod max min
  std::string map = "";              // of each element: OpenCL C in x; "" for x itself
  const Sources* sources = nullptr;  // of x, if a map makes it; its body defines `folded`. Borrowed for the call.
};

// Appends launches; long axes are folded in pieces that the shape and the device decide. *scratch grows by what they
// need.
void add_fold(std::vector<Launch>& launches, Driver& driver, const Fold& fold, const FoldShape& shape,
              const Argument& x, const Argument& y, uint64_t* scratch);

}  // namespace opencl_gpu
