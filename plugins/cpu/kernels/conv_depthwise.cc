#include "kernels/conv_depthwise.h"

#include "kernels/activation.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

template <int NV>
TENON_INLINE f32x8 get(const float* from, int i, i32x8 mask) {
  return i + 1 < NV ? load8(from + 8 * i) : load8_mask(from + 8 * i, mask);
}

// R points x NV vectors of channels from `column`; Masked: the last vector is not whole.
template <int NV, int R, bool Masked>
TENON_INLINE void points(const DepthPanel& p, const int64_t* a_rows, const int64_t* c_rows, int64_t column) {
  const int64_t columns = Masked ? p.columns - column : NV * 8;
  const i32x8 mask = lane_mask(columns - (NV - 1) * 8);
  const auto in = [&](const float* from, int i) __attribute__((always_inline)) {
    return Masked ? get<NV>(from, i, mask) : load8(from + 8 * i);
  };
  f32x8 acc[R][NV];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int i = 0; i < NV; ++i) acc[r][i] = p.bias ? in(p.bias + column, i) : splat8(0);
  const float* a[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) a[r] = p.a + a_rows[r] + column;
  for (int64_t t = 0; t < p.taps; ++t) {
    const float* w = p.w + p.w_taps[t] + column;
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
    float* c = p.c + c_rows[r] + column;
#pragma GCC unroll 2
    for (int i = 0; i < NV; ++i) {
      if (p.norm.scale) {
        const f32x8 centred = acc[r][i] - in(p.norm.mean + column, i);
        acc[r][i] = centred * in(p.norm.scale + column, i) + in(p.norm.shift + column, i);
      }
      if (p.residual) acc[r][i] += in(p.residual + c_rows[r] + column, i);
      if (p.act == TENON_ACT_RELU) acc[r][i] = relu8(acc[r][i]);
      if (Masked && i == NV - 1)
        store8_part(c + 8 * i, acc[r][i], columns - (NV - 1) * 8);
      else
        store8(c + 8 * i, acc[r][i]);
    }
    if (p.act > TENON_ACT_RELU) act_loop(p.act)(c, c, columns, p.alpha);
  }
}

// All channels of a few points, so that what the taps read again is still in L1.
template <int R>
__attribute__((noinline)) void all_channels(const DepthPanel& p, int64_t first) {
  const int64_t *a_rows = p.a_rows + first, *c_rows = p.c_rows + first;
  int64_t c = 0;
  for (; c + 16 <= p.columns; c += 16) points<2, R, false>(p, a_rows, c_rows, c);
  if (p.columns - c > 8)
    points<2, R, true>(p, a_rows, c_rows, c);
  else if (p.columns > c)
    points<1, R, true>(p, a_rows, c_rows, c);
}

// Points [from, to) of one run.
struct Stretch {
  int64_t run, from, to;
  bool accumulate;
};

// T taps' sums of eight channels in registers over some points.
template <int T, bool Masked>
TENON_INLINE void taps(const DepthFilter& f, const Stretch& s, int64_t first, int64_t column) {
  const i32x8 mask = lane_mask(f.columns - column);
  const auto in = [&](const float* from) __attribute__((always_inline)) {
    return Masked ? load8_mask(from, mask) : load8(from);
  };
  f32x8 acc[T];
  const float* a[T];
  float* const c = f.c + first * f.c_step + column;
#pragma GCC unroll 9
  for (int t = 0; t < T; ++t) {
    acc[t] = s.accumulate ? in(c + t * f.c_step) : splat8(0);
    a[t] = f.a + f.a_taps[first + t] + f.runs[s.run] + column;
  }
  const float* b = f.b + (s.run * f.run_length + s.from) * f.b_step + column;
  int64_t at = s.from * f.a_step;
  for (int64_t k = s.from; k < s.to; ++k, at += f.a_step, b += f.b_step) {
    const f32x8 y = in(b);
#pragma GCC unroll 9
    for (int t = 0; t < T; ++t) acc[t] += in(a[t] + at) * y;
  }
#pragma GCC unroll 9
  for (int t = 0; t < T; ++t) {
    if (Masked)
      store8_part(c + t * f.c_step, acc[t], f.columns - column);
    else
      store8(c + t * f.c_step, acc[t]);
  }
}

template <bool Masked>
__attribute__((noinline)) void all_taps(const DepthFilter& f, const Stretch& s, int64_t column) {
  int64_t t = 0;
  for (; t + 9 <= f.taps; t += 9) taps<9, Masked>(f, s, t, column);
  for (; t + 5 <= f.taps; t += 5) taps<5, Masked>(f, s, t, column);
  for (; t + 3 <= f.taps; t += 3) taps<3, Masked>(f, s, t, column);
  for (; t < f.taps; ++t) taps<1, Masked>(f, s, t, column);
}

}  // namespace

void run_depth_panel(const DepthPanel& p, int64_t rows) {
  int64_t r = 0;
  for (; r + 6 <= rows; r += 6) all_channels<6>(p, r);
  for (; r + 2 <= rows; r += 2) all_channels<2>(p, r);
  for (; r < rows; ++r) all_channels<1>(p, r);
}

void run_depth_filter(const DepthFilter& f) {
  constexpr int64_t kPoints = 16;  // of all channels at a time: in L1
  Stretch s{0, 0, 0, f.accumulate};
  for (s.run = 0; s.run < f.n_runs; ++s.run)
    for (s.from = 0; s.from < f.run_length; s.from = s.to) {
      s.to = s.from + kPoints < f.run_length ? s.from + kPoints : f.run_length;
      int64_t c = 0;
      for (; c + 8 <= f.columns; c += 8) all_taps<false>(f, s, c);
      if (c < f.columns) all_taps<true>(f, s, c);
      s.accumulate = true;
    }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
