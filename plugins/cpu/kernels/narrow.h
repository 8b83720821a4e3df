// Runs an f32 kernel on bf16 or f16 operands: they are widened into scratch, the kernel computes in
// f32, and its results are rounded once.
#pragma once

#include "kernels/kernels.h"

namespace tenon::cpu::TENON_CPU_ISA {

// `inner` computes the node as if every bf16 or f16 operand and result were f32. Returns it unchanged
// where all are f32.
Kernel narrowed(const NodeView& node, Kernel inner);

}  // namespace tenon::cpu::TENON_CPU_ISA
