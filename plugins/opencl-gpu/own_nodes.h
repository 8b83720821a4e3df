// The places of operands and results by name where an op of tenon/op/names.h is not alone in having them: of opencl-gpu.so's own
// nodes, and of what several ops are.
#pragma once

namespace opencl_gpu::own {

// dot, conv, their gradients and what ends them.
struct product {
  enum : int { a, b, bias, residual };
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
