// The inner loops of depthwise convolutions: vectors of channels, the sums of a few points of one or two rows in registers.
#pragma once

#include "kernels/conv/conv_work.h"
#include "kernels/stored.h"

namespace tenon::cpu::TENON_CPU_ISA {

// One phase of a convolution, or of the gradient of its input, on one image:
// to[(y, x), c] = act(norm(bias[c] + sum over taps (i, j) of from[y row_step + first_row + i tap_row, x .., c] w[i, j, c])
// + residual), where taps outside the source are none.
template <class T>
struct DepthwisePhase {
  const T* from = nullptr;                                                // point (0, 0) of the source, channel 0
  int64_t from_rows = 0, from_columns = 0, from_row = 0, from_point = 0;  // sizes; elements of a row and of a point
  int64_t row_step = 1, first_row = 0, tap_row = 1;                       // of the source, in points
  int64_t column_step = 1, first_column = 0, tap_column = 1;
  int64_t rows = 1, columns = 1;  // taps
  const float* w = nullptr;       // of the first tap, channel 0
  int64_t w_row = 0, w_column = 0;
  T* to = nullptr;                   // of the phase's point (0, 0), channel 0
  int64_t to_row = 0, to_point = 0;  // elements
  bool fetches_source = true;        // before it is read: it is not in L2
  bool fetches_result = false;       // before it is stored: it is in no cache
  const T* residual = nullptr;       // as `to`, or nullptr
  const float* bias = nullptr;
  ColumnNorm norm;
  int act = TENON_ACT_NONE;
  float alpha = 0;
};

// Its first `height` x `width` points; the first channel is a multiple of 16.
void run_depthwise(const DepthwisePhase<float>& phase, int64_t height, int64_t width, Slice channels);
void run_depthwise(const DepthwisePhase<Bfloat>& phase, int64_t height, int64_t width, Slice channels);

}  // namespace tenon::cpu::TENON_CPU_ISA
