// Sums of products of every kind, dense or by windows, as one description and the kernels that compute it.
#pragma once

#include "launch.h"

namespace opencl_gpu {

enum class AIs { kMatrix, kWindows, kGradient, kTransposedWindows, kTransposedMatrix };

// c[p,m,n] = act(sum_k a(p,m,k) b(p,k,n) + bias + residual); kernels/product.cl has the same struct. In elements.
struct Product {
  cl_long batch = 1, m = 1, n = 1, k = 1;
  cl_long a_batch = 0, a_row = 0, a_column = 0;  // a_batch: also of windows, whose p is a group
  // element (k, n) of b: k / b_inner * b_outer_row + k % b_inner * b_row + n * b_column
  cl_long b_batch = 0, b_inner = 1, b_outer_row = 0, b_row = 0, b_column = 1;
  cl_long c_batch = 0, c_row = 0;
  // Windows: `channels` of each point count, of `pitch` that it has; a has the points `from`, m (or k) goes over batch x `to`.
  cl_long channels = 1, pitch = 1;
  cl_long from[3] = {1, 1, 1}, to[3] = {1, 1, 1}, taps[3] = {1, 1, 1};
  cl_long stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, low[3] = {0, 0, 0};
  cl_double alpha_f64 = 0;
  cl_float alpha = 0;
  cl_int chunks = 1;

  void set_alpha(double a) { alpha_f64 = a, alpha = static_cast<float>(a); }
};

// What a kernel of products is made for, beside the shape.
struct ProductKind {
  AIs a = AIs::kMatrix;
  int32_t dtype = TENON_F32, result = TENON_F32;
  int32_t act = TENON_ACT_NONE;
  bool bias = false, residual = false;
};

// Of a node whose operands are a, b, [bias], [residual].
ProductKind kind_of(const NodeView& node, AIs a);

// a: operand a_operand of the node; b: the other one of its first two.
Kernel product_kernel(Driver& driver, const Product& product, const ProductKind& kind, int a_operand = 0);

}  // namespace opencl_gpu
