// What a node asks of a convolution, as three spatial dimensions (leading ones are 1).
#pragma once

#include <vector>

#include "kernels/kernels.h"

namespace tenon::cpu::TENON_CPU_ISA {

struct ConvShape {
  int64_t batch = 1, c = 1, o = 1, groups = 1;  // channels of x and of y
  int64_t x[3] = {1, 1, 1}, y[3] = {1, 1, 1}, k[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, low[3] = {0, 0, 0};
  bool bias = false, residual = false;
  bool norm = false;  // by mean, variance, gamma and beta (cpu.conv_norm)
  float eps = 0;
  int act = TENON_ACT_NONE;
  double alpha = 0;

  int64_t x_points() const { return x[0] * x[1] * x[2]; }
  int64_t y_points() const { return y[0] * y[1] * y[2]; }
  int64_t taps() const { return k[0] * k[1] * k[2]; }
  int64_t group_c() const { return c / groups; }
  int64_t group_o() const { return o / groups; }
  double flops() const {
    return 2.0 * static_cast<double>(batch * y_points()) * static_cast<double>(taps() * group_c() * o);
  }
};

enum ConvDirection : unsigned { kForward = 1, kInputGradient = 2, kFilterGradient = 4 };

struct ConvProblem {
  ConvShape shape;
  ConvDirection direction = kForward;
  int32_t dtype = TENON_F32;  // of operands and result, but of the filter's gradient; f32 where they differ
  int32_t result_dtype = TENON_F32;
  bool pooled = false;  // y, or dy, is in memory as its 2 x 2 max-pooled form (pooled/conv_pool.h)
  bool exact = false;   // the sums are those of the definition

  bool gradient() const { return direction == kInputGradient; }
};

// From a node of convolution.cc or conv_batch_norm.cc. Of direct/expand_depthwise.cc: of the depthwise convolution, but for the
// channels of x and the norm.
ConvProblem conv_problem(const NodeView& node);

// Every point of y needs that point of x alone.
bool is_product(const ConvShape& shape);
// Every point of y needs one point of x alone; and where these are.
bool is_strided_product(const ConvShape& shape);
std::vector<int64_t> points_of_x(const ConvShape& shape);

}  // namespace tenon::cpu::TENON_CPU_ISA
