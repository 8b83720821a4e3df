// Convolutions by filters of one point, which are products of matrices.
#pragma once

#include "kernels/conv/conv_work.h"
#include "kernels/gemm/gemm.h"

namespace tenon::cpu::TENON_CPU_ISA {

// REQUIRES is_product or, forward, is_strided_product.
inline GemmShape conv_product(const ConvProblem& p) {
  const ConvShape& s = p.shape;
  const int64_t points = s.batch * s.y_points();
  if (p.direction == kInputGradient) return {1, points, s.c, s.o, false, true};
  if (p.direction == kFilterGradient) return {1, s.c, s.o, points, true, false};
  GemmShape shape{1, points, s.o, s.c, false, false, s.act, static_cast<float>(s.alpha)};
  if (!is_product(s)) shape.a_at = points_of_x(s);
  return shape;
}

inline ConvWork product_work(GemmWork gemm) {
  return {gemm.thread_count, gemm.shared_bytes, gemm.own_bytes, gemm.parts,
          [run = std::move(gemm.run)](const Call& call, const ConvData& d) {
            run(call, {d.from, d.weights, d.bias, d.residual, d.to, nullptr, d.norm, d.visitor});
          }};
}

}  // namespace tenon::cpu::TENON_CPU_ISA
