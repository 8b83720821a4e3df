// The inner loops of convolutions whose every channel is a group of its own: vectors of channels.
#pragma once

#include "kernels/gemm_tile.h"

namespace tenon::cpu::TENON_CPU_ISA {

// C[r, n] = act(norm(bias[n] + sum over taps t of a[a_rows[r] + a_taps[t] + n] w[w_taps[t] + n]) + residual).
struct DepthPanel {
  const float* a = nullptr;
  const int64_t* a_rows = nullptr;
  int64_t taps = 0;
  const int64_t* a_taps = nullptr;
  const float* w = nullptr;
  const int64_t* w_taps = nullptr;
  float* c = nullptr;
  const int64_t* c_rows = nullptr;
  int64_t columns = 0;
  const float* bias = nullptr;
  ColumnNorm norm;
  const float* residual = nullptr;
  int act = TENON_ACT_NONE;
  float alpha = 0;
};
void run_depth_panel(const DepthPanel& panel, int64_t rows);

// C[t * c_step + n] (+)= sum over runs i and k < run_length of
// a[a_taps[t] + runs[i] + k * a_step + n] b[(i * run_length + k) * b_step + n], n < columns.
struct DepthFilter {
  const float* a = nullptr;
  const int64_t* a_taps = nullptr;
  int64_t taps = 0;
  const int64_t* runs = nullptr;
  int64_t n_runs = 0, run_length = 0, a_step = 0;
  const float* b = nullptr;
  int64_t b_step = 0;
  float* c = nullptr;
  int64_t c_step = 0;
  int64_t columns = 0;
  bool accumulate = false;
};
void run_depth_filter(const DepthFilter& filter);

}  // namespace tenon::cpu::TENON_CPU_ISA
