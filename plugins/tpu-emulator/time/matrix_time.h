// Cycles of the 128 x 128 matrix units: [M,K] x [K,N] streams one operand past tiles of another, or sums into tiles.
#pragma once

#include <cstdint>

#include "tenon/plugin/graph.h"

namespace tpu {

struct MatrixWork {
  double cycles = 0;          // of one unit, were the work on one
  uint64_t flops = 0;         // asked for
  uint64_t padded_flops = 0;  // what those cycles could do
  // What the vector unit would need, of a convolution that sums no channels: it does the work where it is quicker. 0: it cannot.
  double vector_ops = 0;
};

// The best of the three stationary operands.
double product_cycles(int64_t m, int64_t k, int64_t n);

// The work of a dot, a convolution or a composite of them, in as many passes as its precision asks for.
MatrixWork matrix_work(const tenon::plugin::NodeView& node);

}  // namespace tpu
