// Operands and results of a convolution's algorithm, and what sets one up for another dtype.
#pragma once

#include "kernels/conv/conv_shape.h"
#include "kernels/gemm/gemm_tile.h"
#include "kernels/gemm/result_visitor.h"
#include "kernels/work.h"

namespace tenon::cpu::TENON_CPU_ISA {

// Pointers are to elements of the algorithm's dtype, whatever their type.
struct ConvData {
  const float* from;      // x; for the gradient of the input dy
  const float* weights;   // w; for the gradient of the filter dy
  const float* bias;      // [channels of the result] or nullptr
  const float* residual;  // as `to`, or nullptr
  float* to;
  const uint8_t* winner = nullptr;         // of the pooled dy
  uint8_t* to_winner = nullptr;            // of the pooled y
  ColumnNorm norm = {};                    // of all channels of the result
  const ResultVisitor* visitor = nullptr;  // where the work has parts
};
using ConvWork = Work<ConvData>;

// That of operands gamma, beta, mean and var, the first of which is `gamma`, [channels] each. Each thread computes a scale of
// its own in `room`.
ColumnNorm norm_of(const Call& call, int gamma, int64_t channels, float eps, float* room);

// `work` with a bias [channels] of f32, for data whose bias is bf16.
ConvWork with_wide_bias(ConvWork work, int64_t channels);

// The work of an algorithm of f32 on a problem of bf16, forward or the gradient of the input, without norm or residual: on copies
// of operands and result, of a few images at a time, which caches keep. A visitor sees none.
ConvWork with_wide_copies(ConvWork (*make)(const ConvProblem&), const ConvProblem& problem);

// `work` of a filter's gradient, which is f32, for the problem's result, which may be bf16.
ConvWork with_rounded_result(ConvWork work, const ConvProblem& problem);

}  // namespace tenon::cpu::TENON_CPU_ISA
