// Dtypes for the kernels that walk memory in blocks: bf16 and f16 are widened to f32 a block at a time,
// worked on in f32 and rounded once to nearest even.
#pragma once

#include "kernels/kernels.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr int64_t kBlock = 512;  // elements; a few blocks lie in L1
constexpr int64_t kGrain = 64;   // elements; threads' shares are multiples of it

// Below some 16k elements a second thread costs more than it gives.
inline uint32_t gang_for(int64_t elements) { return elements < 16384 ? 1 : plugin::kAllThreads; }

inline bool is_half(int32_t dtype) { return dtype == TENON_BF16 || dtype == TENON_F16; }
inline bool is_int(int32_t dtype) { return dtype == TENON_I32 || dtype == TENON_I64; }
// Bytes of an element once widened.
inline int64_t work_bytes(int32_t dtype) { return is_half(dtype) ? 4 : plugin::dtype_bytes(dtype); }

// n elements of bf16 or f16 (dtype) to f32 and back; src and dst do not overlap.
void widen(int32_t dtype, const void* src, float* dst, int64_t n);
void narrow(int32_t dtype, const float* src, void* dst, int64_t n);

inline bool same_shape(const plugin::ValueView& a, const plugin::ValueView& b) {
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i)
    if (a.dim(i) != b.dim(i)) return false;
  return true;
}

// "add 'name': what", the form of every refusal.
inline plugin::Verdict refusal(const NodeView& node, const std::string& what) {
  return plugin::refuse(std::string(node.op()) + " '" + std::string(node.name()) + "': " + what);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
