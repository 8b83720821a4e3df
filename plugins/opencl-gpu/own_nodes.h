// The places of operands and results by name where an op of tenon/op/names.h is not alone in having them: of opencl-gpu.so's own
// nodes, and of what several ops are.
#pragma once

namespace opencl_gpu::own {

// dot, conv, their gradients and what ends them. Of a joint product (fuse/joint_products.h) b and bias of each member follow a.
struct product {
  enum : int { a, b, bias, residual };
  static constexpr int b_of(int member) { return b + 2 * member; }
  static constexpr int bias_of(int member) { return bias + 2 * member; }
  struct out {
    enum : int { c };
  };
};
struct conv_pool {
  enum : int { x, w, bias };
  struct out {
    enum : int { pooled, winner };
  };
};
struct pooled_grad_input {
  enum : int { dp, w, winner };
  struct out {
    enum : int { dx };
  };
};
struct pooled_grad_filter {
  enum : int { x, dp, winner };
  struct out {
    enum : int { dw };
  };
};

}  // namespace opencl_gpu::own
