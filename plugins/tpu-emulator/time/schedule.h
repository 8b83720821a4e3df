// In which order kernels run: the graph's, but what frees memory, sends gradients off or updates a variable runs as soon
// as it can. A state is replaced after all its readers.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/pieces.h"
#include "time/fusion.h"

namespace tpu {

// Indices of kernels.
std::vector<uint32_t> schedule(const StepGraph& program, const std::vector<FusedKernel>& kernels);

}  // namespace tpu
