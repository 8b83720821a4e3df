// Which pieces run as one kernel: elementwise producers go into their readers where that moves less memory than writing
// them, elementwise readers of a product become its epilogue, sums ride on the kernel that makes what they add up.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/pieces.h"

namespace tpu {

struct FusedKernel {
  std::vector<int> pieces;              // in the graph's order; elementwise ones may be in several kernels
  int root = 0;                         // piece
  std::vector<uint32_t> reads, writes;  // values through memory, each once
};

// In an order in which they can run.
std::vector<FusedKernel> fuse(const StepGraph& program);

}  // namespace tpu
