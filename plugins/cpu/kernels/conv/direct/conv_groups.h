// The inner loops of convolutions whose groups are narrow, of 1 (depthwise), 2 or 4 channels into as many: vectors of
// channels, in which whole groups lie side by side.
#pragma once

#include "kernels/gemm/gemm_tile.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr bool is_narrow(int64_t channels) { return channels == 1 || channels == 2 || channels == 4; }

// C[r, n] = act(norm(bias[n] + sum over taps t and channels j of n's group of
// a[a_rows[r] + a_taps[t] + n / group * group + j] w[w_taps[t] + j * columns + n]) + residual).
struct GroupPanel {
  int64_t group = 1;  // channels
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
void run_group_panel(const GroupPanel& panel, int64_t rows);

// C[(t * group + j) * c_step + n] (+)= sum over runs i and k < run_length of
// a[a_taps[t] + runs[i] + k * a_step + n / group * group + j] b[(i * run_length + k) * b_step + n], n < columns.
struct GroupFilter {
  int64_t group = 1;  // channels
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
void run_group_filter(const GroupFilter& filter);

}  // namespace tenon::cpu::TENON_CPU_ISA
