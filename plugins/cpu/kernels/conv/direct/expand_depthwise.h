// A product that widens a map and the depthwise convolution that alone reads the wide map, of which no more than a band of rows of
// some channels is ever in memory: in a thread's second-level cache.
#pragma once

#include "kernels/kernels.h"

namespace tenon::cpu::TENON_CPU_ISA {

// cpu.expand_depthwise (fused_graph.h).
void add_expand_depthwise(KernelTable& table);

}  // namespace tenon::cpu::TENON_CPU_ISA
