// Runs an f32 kernel on bf16 or f16 operands: they are widened into scratch, the kernel computes in
// f32, and its results are rounded once.
#pragma once

#include "kernels/kernels.h"

namespace tenon::cpu::TENON_CPU_ISA {

// Operands and results that a kernel takes and gives in their own dtype.
struct OwnPorts {
  std::vector<int> in, out;
};

// `inner` computes the node as if every bf16 or f16 operand and result but its `own` were f32. Returns it unchanged where all
// others are f32.
Kernel narrowed(const NodeView& node, Kernel inner, const OwnPorts& own = {});

}  // namespace tenon::cpu::TENON_CPU_ISA
