// Sees the results of a product or a convolution while they are in cache: to sum over them, or to change them, before
// they are read again.
#pragma once

#include "kernels/kernels.h"

namespace tenon::cpu::TENON_CPU_ISA {

// Points of a result [points, c], counted over all images.
struct PointRun {
  int64_t first, length;
};

struct ResultVisitor {
  const void* context;
  // Some channels of some points, which are complete. All calls for one part, of different channels, are about the same
  // points; parts do not depend on the number of threads. Called by all threads, on different elements.
  void (*visit)(const void* context, int64_t part, const PointRun* runs, int64_t count, Slice channels);
};

}  // namespace tenon::cpu::TENON_CPU_ISA
