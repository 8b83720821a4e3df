#include "kernels/conv_pool.h"

#include "kernels/simd.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

TENON_INLINE i32x8 load_winner(const uint8_t* p, int64_t n) {
  uint8_t some[8] = {};
  for (int64_t i = 0; i < n; ++i) some[i] = p[i];
  return load8_u8(some);
}

TENON_INLINE void store_winner(uint8_t* p, i32x8 winner, int64_t n) {
  for (int64_t i = 0; i < n; ++i) p[i] = static_cast<uint8_t>(winner[i]);
}

// n channels of a window whose points start at p[0..3].
template <bool kWhole>
TENON_INLINE void pool_window(const float* const* p, int64_t at, int64_t n, float* pooled, uint8_t* winner) {
  const auto get = [&](int i) __attribute__((always_inline)) {
    return kWhole ? load8(p[i] + at) : load8_part(p[i] + at, n);
  };
  f32x8 top = get(0);
  i32x8 who = {};
  for (int i = 1; i < 4; ++i) {
    const f32x8 v = get(i);
    const i32x8 wins = ~(top >= v) & (top == top);  // NaN wins, but not over NaN
    top = wins ? v : top;
    who = wins ? splat8i(i) : who;
  }
  if (kWhole)
    store8(pooled + at, top);
  else
    store8_part(pooled + at, top, n);
  if (kWhole)
    store8_u8(winner + at, who);
  else
    store_winner(winner + at, who, n);
}

// Winners' values of one row of windows in row `row` (0 or 1) of them, for points [begin, end) of the row; n channels
// from `at` on.
template <bool kWhole>
TENON_INLINE void unpool_run(const float* pooled, const uint8_t* winner, int64_t c, int row, int64_t begin, int64_t end,
                             int64_t at, int64_t n, int64_t pitch, float* to) {
  for (int64_t p = begin; p < end; ++p, to += pitch) {
    const int64_t from = p / 2 * c + at;
    const i32x8 who = kWhole ? load8_u8(winner + from) : load_winner(winner + from, n);
    const i32x8 mine = who == splat8i(row * 2 + static_cast<int>(p & 1));
    const f32x8 v = kWhole ? load8(pooled + from) : load8_part(pooled + from, n);
    const f32x8 kept = as_f32(as_i32(v) & mine);
    if (kWhole)
      store8(to + at, kept);
    else
      store8_part(to + at, kept, n);
  }
}

void unpool_points(const float* pooled, const uint8_t* winner, int64_t c, int row, int64_t begin, int64_t end,
                   int64_t pitch, float* to) {
  int64_t at = 0;
  for (; at + 8 <= c; at += 8) unpool_run<true>(pooled, winner, c, row, begin, end, at, 8, pitch, to);
  if (at < c) unpool_run<false>(pooled, winner, c, row, begin, end, at, c - at, pitch, to);
}

}  // namespace

void pool_rows(const float* map, int64_t width, int64_t pitch, int64_t c, int64_t begin, int64_t end, float* pooled,
               uint8_t* winner) {
  for (int64_t i = 0; i + 2 <= width; i += 2, pooled += c, winner += c) {
    const float* const p[4] = {map + i * c, map + (i + 1) * c, map + (pitch + i) * c, map + (pitch + i + 1) * c};
    int64_t at = begin;
    for (; at + 8 <= end; at += 8) pool_window<true>(p, at, 8, pooled, winner);
    if (at < end) pool_window<false>(p, at, end - at, pooled, winner);
  }
}

void unpool_halo(const float* pooled, const uint8_t* winner, const Point& size, int64_t c, const Point& first,
                 const Point& extent, int64_t pitch, float* to) {
  const Point windows = pooled_size(size);
  const int64_t left = std::clamp<int64_t>(-first[2], 0, extent[2]);
  const int64_t end = std::clamp<int64_t>(windows[2] * 2 - first[2], left, extent[2]);
  for (int64_t i = 0; i < extent[0]; ++i)
    for (int64_t j = 0; j < extent[1]; ++j, to += extent[2] * pitch) {
      const int64_t z = first[0] + i, y = first[1] + j;
      if (z < 0 || z >= size[0] || y < 0 || y >= windows[1] * 2) {
        std::fill(to, to + extent[2] * pitch, 0.0f);
        continue;
      }
      const int64_t from = (z * windows[1] + y / 2) * windows[2] * c;
      std::fill(to, to + left * pitch, 0.0f);
      unpool_points(pooled + from, winner + from, c, static_cast<int>(y & 1), first[2] + left, first[2] + end, pitch,
                    to + left * pitch);
      std::fill(to + end * pitch, to + extent[2] * pitch, 0.0f);
    }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
