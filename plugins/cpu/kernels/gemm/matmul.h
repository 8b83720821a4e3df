// dot and dot_bias_act, by dtype.
#pragma once

#include "kernels/conv/conv_taken.h"
#include "kernels/gemm/gemm.h"

namespace tenon::cpu::TENON_CPU_ISA {

// Of `dot` and its kin; k counts elements.
GemmShape gemm_shape_of(const NodeView& node);

// A product of bf16 by pairs (k counts elements), whose result is bf16. REQUIRES k even and has_pair_products()
// where `a_at` is given.
ConvWork pair_product_work(const GemmShape& shape, bool bias, bool residual);
// The same of a node's operands 0 and 1, of bf16 or f32 results, with the rest of what its op (matmul.cc) has.
Kernel make_pair_product(const NodeView& node, const GemmShape& shape);

}  // namespace tenon::cpu::TENON_CPU_ISA
