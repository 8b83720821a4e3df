// Where every value of a step lies in a core's memory: an arena over live ranges.
#pragma once

#include <cstdint>
#include <vector>

#include "forecast/step_forecast.h"
#include "machine/pieces.h"

namespace tpu {

// Bytes that are alive from `first` to `last`, and where they were put.
struct Block {
  uint64_t bytes = 0, offset = 0;
  uint32_t first = 0, last = 0;
};

// Places blocks so that those alive together do not overlap; returns the arena's height. Offsets are multiples of 1024.
uint64_t place(std::vector<Block>& blocks);

// The most bytes of `blocks`, in whole tiles of 1024, that are alive at once.
uint64_t most_alive(const std::vector<Block>& blocks);

// `kernels` in the order in which they run.
MemoryPlan plan_memory(const StepGraph& program, const std::vector<Kernel>& kernels, const Machine& machine);

}  // namespace tpu
