// Products of f32 by products of bf16, for processors whose tiles make those many times as fast. An operand is the sum of terms:
// x1 = bf16(x), x2 = bf16(x - x1), x3 = bf16(x - x1 - x2), rounded to nearest even. Two terms of each make three products, three
// make six; which is dropped is at most 2^-16 or 2^-24 of |a b|. They are one product of bf16 whose sums are three or six times as
// long, the smallest first:
//   a1 b2 + a2 b1 + a1 b1      and      a1 b3 + a3 b1 + a2 b2 + a1 b2 + a2 b1 + a1 b1
// What is not finite takes part in a1 b1 alone. Subnormal terms, sums and results are zeros, so that operands under 1e-30 lose
// their lower terms; those over 3.38e38 round to infinities. (Henry, Tang and Heinecke 2019,
// "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations", arXiv:1904.06376.)
#pragma once

#include "kernels/gemm/gemm.h"

namespace tenon::cpu::TENON_CPU_ISA {

#ifdef __AVX512BF16__
// Set before kernels are made: terms of each operand, 2 or 3; 0: products of f32 are made by f32 arithmetic. REQUIRES
// has_pair_products() where it is set.
extern int f32_terms;
#else
constexpr int f32_terms = 0;
#endif

// The terms of a product of f32 with that `precision`, of which more than the default's takes three; 0: f32 arithmetic, which is
// faster where a matrix is narrow.
int split_terms(const GemmShape& shape, int64_t precision);

// A product of f32 by so many terms, with f32 bias and residual; nobody visits it.
GemmWork split_product_work(const GemmShape& shape, int terms);

}  // namespace tenon::cpu::TENON_CPU_ISA
