// Sums of products of every kind, dense or by windows, as one description and the kernels that compute it.
#pragma once

#include "device/launch.h"
#include "own_nodes.h"

namespace opencl_gpu {

enum class AIs { kMatrix, kTransposedMatrix, kWindows, kTransposedWindows };

// c[p,m,n] = act(sum_k a(p,m,k) b(p,k,n) + bias + residual); kernels/product/product.cl has the same struct. In elements.
struct Product {
  cl_long batch = 1, m = 1, n = 1, k = 1;
  cl_long a_batch = 0, a_row = 0, a_column = 0;  // a_batch: also of windows, whose p is a group
  // element (k, n) of b: k / b_inner * b_outer_row + k % b_inner * b_row + n * b_column
  cl_long b_batch = 0, b_inner = 1, b_outer_row = 0, b_row = 0, b_column = 1;
  cl_long c_batch = 0, c_row = 0;
  // Windows: m (or k) goes over images x `to`, k (or m) over `taps` x channels. Along an axis, tap t of the window at
  // i lies at q = i up + t step + shift, over `down` where that is a whole number, in a's image of size `from`, whose
  // points are `pitch` apart.
  cl_long channels = 1, pitch = 1;
  cl_long from[3] = {1, 1, 1}, to[3] = {1, 1, 1}, taps[3] = {1, 1, 1};
  cl_long up[3] = {1, 1, 1}, step[3] = {1, 1, 1}, shift[3] = {0, 0, 0}, down[3] = {1, 1, 1};
  cl_double alpha_f64 = 0;
  cl_float alpha = 0, floor = 0;  // floor: of the sums, where they are c at once
  cl_int chunks = 1;              // of k
  cl_int dense = 0;               // the taps of a row lie one behind the other
  cl_int bias = 0, residual = 0;

  void set_alpha(double a) { alpha_f64 = a, alpha = static_cast<float>(a); }
};

// What a kernel of products is made for, beside the shape.
struct ProductKind {
  AIs a = AIs::kMatrix;
  int32_t dtype = TENON_F32, result = TENON_F32;
  int32_t act = TENON_ACT_NONE;
  bool bias = false, residual = false;
  int members = 1;  // products of one a, as a batch whose b, bias and c are memory of their own each

  int32_t wide() const { return dtype == TENON_F64 ? TENON_F64 : TENON_F32; }  // what sums are kept as
};

// The kind of a node whose operands are a, b, [bias], [residual].
ProductKind kind_of(const NodeView& node, AIs a);

// The kernel of a node that is this product.
Kernel product_kernel(const NodeView& node, const Env& env, const Product& product, const ProductKind& kind);

}  // namespace opencl_gpu
