// A convolution and the batch norm behind it, in training; and their gradients where these meet.
#pragma once

#include "kernels/kernels.h"

namespace tenon::cpu::TENON_CPU_ISA {

// cpu.batch_norm.conv and cpu.batch_norm.grad_input (fused_graph.h).
void add_normed_convolution(KernelTable& table);

}  // namespace tenon::cpu::TENON_CPU_ISA
