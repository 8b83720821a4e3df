// Filters in vectors: see conv_winners.h.
#include "kernels/conv/pooled/conv_winners.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int kLanes = Lanes::kLanes;
constexpr int kMostTaps = kLanes == 16 ? 27 : 12;  // sums in registers

// Windows of one row, for up to kLanes filters.
struct Windows {
  const float* dp;
  const uint8_t* winner;
  int64_t count, step;        // step: from a window to the next, whole vectors of filters
  int64_t filters, sum_step;  // of this vector; from a tap's sums to the next's
  const float* x;             // the first tap of the first window's first place
  int64_t right, down;        // from a place to the next ones
  int64_t pitch;              // from a kernel row's taps to the next's
};

using Words = Lanes::Ints;

// R kernel rows x V taps of each.
template <int R, int V>
TENON_INLINE void add_taps(const Windows& w, float* sums, int64_t row_step) {
  using Vector = Lanes::Vector;
  const auto mask = Lanes::first(w.filters);
  Vector acc[R][V];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 27
    for (int v = 0; v < V; ++v) acc[r][v] = Lanes::load(sums + r * row_step + v * w.sum_step, mask);
  for (int64_t i = 0; i < w.count; ++i) {
    const Words dy = (Words)Lanes::load(w.dp + i * w.step), winner = Lanes::load_u8(w.winner + i * w.step);
    const float* const x = w.x + i * 2 * w.right;
#pragma GCC unroll 4
    for (int place = 0; place < 4; ++place) {
      const Vector mine = (Vector)(dy & (winner == place));
      const float* const tap = x + (place & 1) * w.right + (place >> 1) * w.down;
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 27
        for (int v = 0; v < V; ++v) acc[r][v] += Lanes::splat(tap[r * w.pitch + v]) * mine;
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 27
    for (int v = 0; v < V; ++v) Lanes::store_part(sums + r * row_step + v * w.sum_step, acc[r][v], w.filters);
}

// The same for a number of taps that is known when it runs.
template <int R, int V>
__attribute__((noinline)) void add_some(int64_t taps, const Windows& w, float* sums, int64_t row_step) {
  if constexpr (V > 0) {
    if (taps == V) return add_taps<R, V>(w, sums, row_step);
    add_some<R, V - 1>(taps, w, sums, row_step);
  }
}

}  // namespace

// Whole vectors of filters for every window of the unit: as they are, or copied.
WinnerFilterGrad::Places WinnerFilterGrad::places_of(const Data& data, int64_t unit, int64_t rows) const {
  const int64_t first = first_window(unit) * s_.o, step = round_up(s_.o, kLanes);
  if (step == s_.o) return {data.dp + first, data.winner + first, step};
  float* const dp = data.room;
  auto* const winner = reinterpret_cast<uint8_t*>(dp + windows_ * step);
  for (int64_t i = 0; i < rows * (s_.y[2] / 2); ++i) {
    std::memcpy(dp + i * step, data.dp + first + i * s_.o, static_cast<size_t>(s_.o) * sizeof(float));
    std::memcpy(winner + i * step, data.winner + first + i * s_.o, static_cast<size_t>(s_.o));
  }
  return {dp, winner, step};
}

void WinnerFilterGrad::add_places(const Data& data, int64_t unit, const float* source, float* sums) const {
  const int64_t rows = rows_of(unit);
  const Places places = places_of(data, unit, rows);
  const int64_t across = s_.y[2] / 2, row_step = run_ * s_.o;
  Windows w;
  w.count = across;
  w.step = places.step;
  w.sum_step = s_.o;
  w.right = s_.stride[2] * s_.c;
  w.down = s_.stride[1] * width_ * s_.c;
  w.pitch = width_ * s_.c;
  for (int64_t o = 0; o < s_.o; o += kLanes)
    for (int64_t row = 0; row < rows; ++row) {
      w.filters = std::min<int64_t>(kLanes, s_.o - o);
      w.dp = places.dp + row * across * w.step + o;
      w.winner = places.winner + row * across * w.step + o;
      const float* const x = source + row * 2 * w.down;
      int64_t r = 0;
      if (run_ * 3 <= kMostTaps)
        for (; r + 3 <= s_.k[1]; r += 3) {
          w.x = x + r * w.pitch;
          add_some<3, kMostTaps / 3>(run_, w, sums + r * row_step + o, row_step);
        }
      for (; r < s_.k[1]; ++r)
        for (int64_t v = 0; v < run_; v += kMostTaps) {
          w.x = x + r * w.pitch + v;
          const int64_t taps = std::min<int64_t>(run_ - v, kMostTaps);
          add_some<1, kMostTaps>(taps, w, sums + r * row_step + v * s_.o + o, row_step);
        }
    }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
