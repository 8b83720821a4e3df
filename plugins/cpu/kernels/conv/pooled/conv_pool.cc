#include "kernels/conv/pooled/conv_pool.h"

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

// Channels [at, at + n) of a window whose points start at p[0..3]: n lanes of a vector of V or, where whole, all.
template <class V, bool kWhole>
TENON_INLINE void pool_window(const float* const* p, int64_t at, float* pooled, uint8_t* winner,
                              int64_t n = V::kLanes) {
  typename V::Vector elements[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) elements[i] = kWhole ? V::load(p[i] + at) : V::load(p[i] + at, V::first(n));
  typename V::Ints which;
  const typename V::Vector top = largest<V>(elements, which);
  if constexpr (kWhole) {
    V::store(pooled + at, top);
    V::store_u8(winner + at, which);
  } else {
    V::store_part(pooled + at, top, n);
    store_winner(winner + at, which, n);
  }
}

// Where a pooled row's winners go: points [begin, end) of the row `row` (0 or 1) of its windows.
struct Unpooled {
  const float* pooled;
  const uint8_t* winner;
  int64_t c;
  int row;
  int64_t begin, end, pitch;
  float* to;
};

// Channels [at, at + n) of them, n lanes of a vector of V or, where whole, all.
template <class V, bool kWhole>
TENON_INLINE void unpool_run(const Unpooled& u, int64_t at, int64_t n = V::kLanes) {
  using Ints = typename V::Ints;
  const auto keep = [&](Ints value, Ints mine, float* to) __attribute__((always_inline)) {
    const auto kept = (typename V::Vector)(value & mine);
    if (kWhole)
      V::store(to + at, kept);
    else
      V::store_part(to + at, kept, n);
  };
  const Ints left = Ints{} + 2 * u.row, right = left + 1;
  float* to = u.to;
  for (int64_t p = u.begin; p < u.end;) {
    const int64_t from = p / 2 * u.c + at;
    Ints who, value;
    if constexpr (kWhole) {
      who = V::load_u8(u.winner + from);
      value = (Ints)V::load(u.pooled + from);
    } else {
      who = load_winner(u.winner + from, n);
      value = (Ints)load8_part(u.pooled + from, n);
    }
    if (p % 2 == 0) keep(value, who == left, to), to += u.pitch, ++p;
    if (p < u.end) keep(value, who == right, to), to += u.pitch, ++p;
  }
}

void unpool_points(const Unpooled& u) {
  int64_t at = 0;
  for (; at + Lanes::kLanes <= u.c; at += Lanes::kLanes) unpool_run<Lanes, true>(u, at);
  for (; at + 8 <= u.c; at += 8) unpool_run<Lanes8, true>(u, at);
  if (at < u.c) unpool_run<Lanes8, false>(u, at, u.c - at);
}

}  // namespace

void pool_rows(const float* map, int64_t width, int64_t pitch, int64_t c, int64_t begin, int64_t end, float* pooled,
               uint8_t* winner) {
  for (int64_t i = 0; i + 2 <= width; i += 2, pooled += c, winner += c) {
    const float* const p[4] = {map + i * c, map + (i + 1) * c, map + (pitch + i) * c, map + (pitch + i + 1) * c};
    int64_t at = begin;
    for (; at + Lanes::kLanes <= end; at += Lanes::kLanes) pool_window<Lanes, true>(p, at, pooled, winner);
    for (; at + 8 <= end; at += 8) pool_window<Lanes8, true>(p, at, pooled, winner);
    if (at < end) pool_window<Lanes8, false>(p, at, pooled, winner, end - at);
  }
}

void unpool_halo(const float* pooled, const uint8_t* winner, const Point& size, int64_t c, const Point& first,
                 const Point& extent, int64_t pitch, float* to) {
  const Point windows = pooled_size(size), seen{{size[0], windows[1] * 2, windows[2] * 2}};
  const auto unpool = [&](int64_t z, int64_t y, int64_t x, int64_t n, float* line) __attribute__((always_inline)) {
    const int64_t from = (z * windows[1] + y / 2) * windows[2] * c;
    unpool_points({pooled + from, winner + from, c, static_cast<int>(y & 1), x, x + n, pitch, line});
  };
  for_halo_lines(seen, first, extent, pitch, to, unpool);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
