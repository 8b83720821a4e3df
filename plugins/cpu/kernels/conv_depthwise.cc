#include "kernels/conv_depthwise.h"

#include "kernels/activation.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

template <int NV>
TENON_INLINE f32x8 get(const float* from, int i, i32x8 mask) {
  return i + 1 < NV ? load8(from + 8 * i) : load8_mask(from + 8 * i, mask);
}

// R points x NV vectors of channels; Masked: the last vector is not whole.
template <int NV, int R, bool Masked>
TENON_INLINE void points(const DepthPanel& p, const int64_t* a_rows, const int64_t* c_rows) {
  const i32x8 mask = lane_mask(p.columns - (NV - 1) * 8);
  const auto in = [&](const float* from, int i) __attribute__((always_inline)) {
    return Masked ? get<NV>(from, i, mask) : load8(from + 8 * i);
  };
  f32x8 acc[R][NV];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int i = 0; i < NV; ++i) acc[r][i] = p.bias ? in(p.bias, i) : splat8(0);
  const float* a[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) a[r] = p.a + a_rows[r];
  for (int64_t t = 0; t < p.taps; ++t) {
    const float* w = p.w + p.w_taps[t];
    const int64_t at = p.a_taps[t];
#pragma GCC unroll 2
    for (int i = 0; i < NV; ++i) {
      const f32x8 b = in(w, i);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) acc[r][i] += in(a[r] + at, i) * b;
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    float* c = p.c + c_rows[r];
#pragma GCC unroll 2
    for (int i = 0; i < NV; ++i) {
      if (p.residual) acc[r][i] += in(p.residual + c_rows[r], i);
      if (p.act == TENON_ACT_RELU) acc[r][i] = relu8(acc[r][i]);
      if (Masked && i == NV - 1)
        store8_part(c + 8 * i, acc[r][i], p.columns - (NV - 1) * 8);
      else
        store8(c + 8 * i, acc[r][i]);
    }
    if (p.act > TENON_ACT_RELU) act_loop(p.act)(c, c, p.columns, p.alpha);
  }
}

template <int NV, bool Masked>
__attribute__((noinline)) void all_points(const DepthPanel& p, int64_t rows) {
  int64_t r = 0;
  for (; r + 6 <= rows; r += 6) points<NV, 6, Masked>(p, p.a_rows + r, p.c_rows + r);
  for (; r < rows; ++r) points<NV, 1, Masked>(p, p.a_rows + r, p.c_rows + r);
}

// T taps' sums in registers over all points.
template <int T, bool Masked>
__attribute__((noinline)) void taps(const DepthFilter& f, int64_t first) {
  const i32x8 mask = lane_mask(f.columns);
  const auto in = [&](const float* from) __attribute__((always_inline)) {
    return Masked ? load8_mask(from, mask) : load8(from);
  };
  f32x8 acc[T];
  float* const c = f.c + first * f.c_step;
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) acc[t] = f.accumulate ? in(c + t * f.c_step) : splat8(0);
  const float* b = f.b;
  for (int64_t i = 0; i < f.n_runs; ++i) {
    const float* a[T];
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) a[t] = f.a + f.a_taps[first + t] + f.runs[i];
    int64_t at = 0;
    for (int64_t k = 0; k < f.run_length; ++k, at += f.a_step, b += f.b_step) {
      const f32x8 y = in(b);
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) acc[t] += in(a[t] + at) * y;
    }
  }
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) {
    if (Masked)
      store8_part(c + t * f.c_step, acc[t], f.columns);
    else
      store8(c + t * f.c_step, acc[t]);
  }
}

template <bool Masked>
void all_taps(const DepthFilter& f) {
  int64_t t = 0;
  for (; t + 5 <= f.taps; t += 5) taps<5, Masked>(f, t);
  for (; t + 3 <= f.taps; t += 3) taps<3, Masked>(f, t);
  for (; t < f.taps; ++t) taps<1, Masked>(f, t);
}

}  // namespace

void run_depth_panel(const DepthPanel& p, int64_t rows) {
  if (p.columns == 16) return all_points<2, false>(p, rows);
  if (p.columns > 8) return all_points<2, true>(p, rows);
  if (p.columns == 8) return all_points<1, false>(p, rows);
  all_points<1, true>(p, rows);
}

void run_depth_filter(const DepthFilter& f) {
  if (f.columns == 8) return all_taps<false>(f);
  all_taps<true>(f);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
