// What attention's kernels for CPUs and for GPUs share.
#pragma once

#include <string>

#include "device/table.h"
#include "ops/rows.h"
#include "tenon/op/names.h"

namespace opencl_gpu {

struct Attention {  // kernels/network/attention.cl
  cl_long B, T, N, D, S, M;
  cl_long block = 0, d_pitch = 0, room = 0;
  cl_long packs = 0, whole = 0;
  cl_long bias_b = 0, bias_n = 0, bias_t = 0;
  cl_long before = 0;
  cl_int causal = 0, biased = 0, wants_bias = 0;
  cl_uint stream = 0, limit = 0;
};

// Where a node has q, k and v, and the bias, seed and step.
struct Operands {
  int q, bias;
};
constexpr Operands kForward{tenon::op::attention::q, tenon::op::attention::bias};
constexpr Operands kGradient{tenon::op::attention_grad::q, tenon::op::attention_grad::bias};

Attention attention_of(const NodeView& node, Operands at);

// What they compute with; bytes of so many elements of it.
inline int32_t wide_dtype(const NodeView& node) { return sum_dtype(node.in(0).dtype()); }
inline uint64_t wide_bytes(const NodeView& node, uint64_t elements) {
  return aligned(elements * static_cast<uint64_t>(dtype_bytes(wide_dtype(node))));
}

// A kernel of kernels/network/FILE.cl behind `parts`, which it stands on.
Launch attention_launch(Driver& driver, const NodeView& node, const std::string& parts, const char* file,
                        const char* name, const std::string& options);

// The parameters that kernels have behind their results: all operands, where what is not there is not read; scratch from
// `room_at` on, and numbers.
Launch& finish(Launch& launch, const NodeView& node, Operands at, const Attention& a, uint64_t room_at);

Kernel cpu_attention(Driver& driver, const NodeView& node, Attention a);
Kernel cpu_attention_grad(Driver& driver, const NodeView& node, Attention a);
Kernel gpu_attention(Driver& driver, const NodeView& node, Attention a);
Kernel gpu_attention_grad(Driver& driver, const NodeView& node, Attention a);

}  // namespace opencl_gpu
