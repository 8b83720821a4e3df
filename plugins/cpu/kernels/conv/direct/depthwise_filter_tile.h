// The inner loops of depthwise convolutions' gradients of the filter: the sums of a few rows of taps of a vector of channels stay in
// registers over the points of some rows.
#pragma once

#include "kernels/conv/conv_work.h"
#include "kernels/stored.h"

namespace tenon::cpu::TENON_CPU_ISA {

// Rows of points of one image, for the gradient of the filter, 3, 5 or 7 taps wide:
// dw[i, j, c] += sum over points (y, x) of x[y row_step + first_row + i tap_row, x .., c] dy[y, x, c].
template <class T>
struct DepthwiseFilterRows {
  const T* x = nullptr;                                       // point (0, 0), channel 0
  int64_t x_rows = 0, x_columns = 0, x_row = 0, x_point = 0;  // sizes; elements of a row and of a point
  int64_t row_step = 1, column_step = 1, tap_row = 1, tap_column = 1, first_row = 0, first_column = 0;
  int64_t rows = 1, columns = 1;  // taps
  const T* dy = nullptr;          // point (0, 0), channel 0
  int64_t dy_row = 0, dy_point = 0, width = 0;
  float* dw = nullptr;
  int64_t dw_tap = 0;  // elements from a tap to the next
};

// Its first `height` rows; the first channel is a multiple of 16. dw is added to.
void run_depthwise_filter(const DepthwiseFilterRows<float>& f, int64_t height, Slice channels);
void run_depthwise_filter(const DepthwiseFilterRows<Bfloat>& f, int64_t height, Slice channels);

}  // namespace tenon::cpu::TENON_CPU_ISA
