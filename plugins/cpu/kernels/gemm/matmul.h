// dot and dot_bias_act, by dtype.
#pragma once

#include "kernels/gemm/gemm.h"

namespace tenon::cpu::TENON_CPU_ISA {

// The shape of a node of matmul.cc; k counts elements.
GemmShape gemm_shape_of(const NodeView& node);

// What follows a product of bf16 by pairs. round: the result is bf16, else f32.
struct PairEpilogue {
  bool bias = false, residual = false, round = true;
  // Data have a norm: the sums are rounded, normalized, added to the residual, clipped and rounded. REQUIRES round, and
  // `shape.act` none, ReLU or ReLU6; computes only where the work has parts.
  bool norm = false;
  bool wide = false;  // bias and residual, which data may have, are f32. REQUIRES not round
};
// A product of bf16 by pairs; `shape.k` counts elements, and operands, bias and residual are bf16. REQUIRES k even and
// has_pair_products() where `a_at` is given.
GemmWork pair_product_work(const GemmShape& shape, const PairEpilogue& epilogue);
// The kernel of a node of matmul.cc whose operands are bf16, and its result bf16 or f32.
Kernel make_pair_product(const NodeView& node);

}  // namespace tenon::cpu::TENON_CPU_ISA
