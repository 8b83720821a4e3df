// A convolution and the batch norm of given moments behind it, in bf16.
#pragma once

#include "kernels/kernels.h"

namespace tenon::cpu::TENON_CPU_ISA {

// Of a cpu.conv_norm of bf16, whose activation is none, ReLU or ReLU6. The sums are rounded before they are normalized,
// and the result is rounded again: the bits are those of two nodes.
Kernel make_conv_norm_of_bf16(const NodeView& node);

}  // namespace tenon::cpu::TENON_CPU_ISA
