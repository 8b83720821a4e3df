// Runs an f32 kernel on bf16 or f16 operands: they are widened into scratch, the kernel computes in
// f32, and its results are rounded once.
#pragma once

#include "kernels/kernels.h"

namespace tenon::cpu::TENON_CPU_ISA {

// n elements from f32 to dtype (f32, bf16 or f16) and back.
void widen(int32_t dtype, const void* from, int64_t n, float* to);
void narrow(const float* from, int64_t n, int32_t dtype, void* to);

// `inner` computes the node as if every bf16 or f16 operand and result were f32. Returns it unchanged
// where all are f32.
Kernel narrowed(const NodeView& node, Kernel inner);

}  // namespace tenon::cpu::TENON_CPU_ISA
