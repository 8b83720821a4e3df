#include "kernels/conv/direct/conv_groups.h"

#include <utility>

#include "kernels/element/activation.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

template <int NV>
TENON_INLINE f32x8 get(const float* from, int i, i32x8 mask) {
  return i + 1 < NV ? load8(from + 8 * i) : load8_mask(from + 8 * i, mask);
}

// Calls f(j) for the channels of a group, as constants.
template <int G, class F>
TENON_INLINE void each_channel(F f) {
  [&]<int... J>(std::integer_sequence<int, J...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, J>{}), ...);
  }
  (std::make_integer_sequence<int, G>{});
}

// Channel j of each lane's group of G.
template <int G, int J>
TENON_INLINE f32x8 of_group(f32x8 x) {
  if constexpr (G == 1) return x;
  if constexpr (G == 2) return __builtin_shufflevector(x, x, J, J, J + 2, J + 2, J + 4, J + 4, J + 6, J + 6);
  return __builtin_shufflevector(x, x, J, J, J, J, J + 4, J + 4, J + 4, J + 4);
}

// R points x NV vectors of channels from `column`; Masked: the last vector is not whole.
template <int G, int NV, int R, bool Masked>
TENON_INLINE void points(const GroupPanel& p, const int64_t* a_rows, const int64_t* c_rows, int64_t column) {
  const int64_t columns = Masked ? p.columns - column : NV * 8;
  const i32x8 mask = lane_mask(columns - (NV - 1) * 8);
  const Clip clip = Clip::of(p.act);
  const auto in = [&](const float* from, int i) __attribute__((always_inline)) {
    return Masked ? get<NV>(from, i, mask) : load8(from + 8 * i);
  };
  f32x8 acc[R][NV];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int i = 0; i < NV; ++i) acc[r][i] = p.bias ? in(p.bias + column, i) : splat<f32x8>(0);
  const float* a[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) a[r] = p.a + a_rows[r] + column;
  for (int64_t t = 0; t < p.taps; ++t) {
    const float* w = p.w + p.w_taps[t] + column;
    const int64_t at = p.a_taps[t];
#pragma GCC unroll 2
    for (int i = 0; i < NV; ++i) {
      f32x8 x[R];
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) x[r] = in(a[r] + at, i);
      each_channel<G>([&](auto j) __attribute__((always_inline)) {
        const f32x8 b = in(w + j * p.columns, i);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) acc[r][i] += of_group<G, j>(x[r]) * b;
      });
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
      acc[r][i] = clip.apply<Lanes8>(acc[r][i]);
      if (Masked && i == NV - 1)
        store8_part(c + 8 * i, acc[r][i], columns - (NV - 1) * 8);
      else
        store8(c + 8 * i, acc[r][i]);
    }
  }
  if (!is_clip(p.act)) act_rows(p.act)(p.c + column, c_rows, R, columns, p.alpha);
}

// All channels of a few points, so that what the taps read again is still in L1.
template <int G, int R>
__attribute__((noinline)) void all_channels(const GroupPanel& p, int64_t first) {
  const int64_t *a_rows = p.a_rows + first, *c_rows = p.c_rows + first;
  int64_t c = 0;
  for (; c + 16 <= p.columns; c += 16) points<G, 2, R, false>(p, a_rows, c_rows, c);
  if (p.columns - c > 8)
    points<G, 2, R, true>(p, a_rows, c_rows, c);
  else if (p.columns > c)
    points<G, 1, R, true>(p, a_rows, c_rows, c);
}

template <int G>
void all_points(const GroupPanel& p, int64_t rows) {
  constexpr int kMost = G == 1 ? 6 : 4;  // points whose sums, and what they read, are in registers
  int64_t r = 0;
  for (; r + kMost <= rows; r += kMost) all_channels<G, kMost>(p, r);
  for (; r + 2 <= rows; r += 2) all_channels<G, 2>(p, r);
  for (; r < rows; ++r) all_channels<G, 1>(p, r);
}

// Points [from, to) of one run.
struct Stretch {
  int64_t run, from, to;
  bool accumulate;
};

// T taps' sums of eight channels in registers over some points.
template <int G, int T, bool Masked>
TENON_INLINE void taps(const GroupFilter& f, const Stretch& s, int64_t first, int64_t column) {
  const i32x8 mask = lane_mask(f.columns - column);
  const auto in = [&](const float* from) __attribute__((always_inline)) {
    return Masked ? load8_mask(from, mask) : load8(from);
  };
  f32x8 acc[T * G];
  const float* a[T];
  float* const c = f.c + first * G * f.c_step + column;
#pragma GCC unroll 12
  for (int i = 0; i < T * G; ++i) acc[i] = s.accumulate ? in(c + i * f.c_step) : splat<f32x8>(0);
#pragma GCC unroll 9
  for (int t = 0; t < T; ++t) a[t] = f.a + f.a_taps[first + t] + f.runs[s.run] + column;
  const float* b = f.b + (s.run * f.run_length + s.from) * f.b_step + column;
  int64_t at = s.from * f.a_step;
  for (int64_t k = s.from; k < s.to; ++k, at += f.a_step, b += f.b_step) {
    const f32x8 y = in(b);
#pragma GCC unroll 9
    for (int t = 0; t < T; ++t) {
      const f32x8 x = in(a[t] + at);
      each_channel<G>([&](auto j) __attribute__((always_inline)) { acc[t * G + j] += of_group<G, j>(x) * y; });
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < T * G; ++i) {
    if (Masked)
      store8_part(c + i * f.c_step, acc[i], f.columns - column);
    else
      store8(c + i * f.c_step, acc[i]);
  }
}

template <int G, bool Masked>
__attribute__((noinline)) void all_taps(const GroupFilter& f, const Stretch& s, int64_t column) {
  int64_t t = 0;
  if constexpr (G == 1)
    for (; t + 9 <= f.taps; t += 9) taps<G, 9, Masked>(f, s, t, column);
  if constexpr (G <= 2)
    for (; t + 5 <= f.taps; t += 5) taps<G, 5, Masked>(f, s, t, column);
  for (; t + 3 <= f.taps; t += 3) taps<G, 3, Masked>(f, s, t, column);
  for (; t < f.taps; ++t) taps<G, 1, Masked>(f, s, t, column);
}

template <int G>
void all_stretches(const GroupFilter& f) {
  constexpr int64_t kPoints = 16;  // of all channels at a time: in L1
  Stretch s{0, 0, 0, f.accumulate};
  for (s.run = 0; s.run < f.n_runs; ++s.run)
    for (s.from = 0; s.from < f.run_length; s.from = s.to) {
      s.to = s.from + kPoints < f.run_length ? s.from + kPoints : f.run_length;
      int64_t c = 0;
      for (; c + 8 <= f.columns; c += 8) all_taps<G, false>(f, s, c);
      if (c < f.columns) all_taps<G, true>(f, s, c);
      s.accumulate = true;
    }
}

}  // namespace

void run_group_panel(const GroupPanel& p, int64_t rows) {
  (p.group == 4 ? all_points<4> : p.group == 2 ? all_points<2> : all_points<1>)(p, rows);
}

void run_group_filter(const GroupFilter& f) {
  (f.group == 4 ? all_stretches<4> : f.group == 2 ? all_stretches<2> : all_stretches<1>)(f);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
