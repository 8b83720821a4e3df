// Kernels chosen by the clock, once; the choice is kept in the host's cache.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/launch.h"

namespace opencl_gpu {

// One way to compute a node. The name stands for it in the cache and is told to who looks closely: "tiles of 4 x 8".
struct Variant {
  std::string name;
  std::function<Kernel()> make;
};

// The kernel of the quickest of variants that all give the same bits. The first is a rule's choice: it is taken where the
// clock may not choose (DETERMINISTIC, no cache to remember by), for nodes that are small or do not fit beside the
// rest of the memory, and unless another takes clearly less. `small`: multiply-adds below which a node is not worth
// the time.
Kernel quickest(const NodeView& node, const Env& env, const std::vector<Variant>& variants, double small = 1 << 24);

}  // namespace opencl_gpu
