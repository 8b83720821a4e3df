// Loops of the elementwise ops and how a node walks its operands.
#pragma once

#include <string_view>

#include "kernels/dtype.h"

namespace tenon::cpu::TENON_CPU_ISA {

struct LoopParams {
  double alpha = 0;
  int32_t act = 0;
};
// n elements of each operand, already widened and spread, to n results. `out` may be any of `in`.
using Loop = void (*)(const void* const* in, void* out, int64_t n, const LoopParams& params);

struct LoopRow {
  std::string_view op;
  Loop loop;
};

// The loop of an op in one arithmetic, or nullptr.
Loop float_loop(std::string_view op);                   // f32, for bf16 and f16 too
Loop double_loop(std::string_view op);                  // f64
Loop integer_loop(std::string_view op, int32_t dtype);  // i32, i64; max and min of bool
Loop compare_loop(int32_t dtype, int32_t kind);
Loop select_loop(int32_t dtype);

// Registered by add_elementwise.
void add_cast(KernelTable& table);
void add_bias_act_grad(KernelTable& table);
void add_rounding(KernelTable& table);

}  // namespace tenon::cpu::TENON_CPU_ISA
