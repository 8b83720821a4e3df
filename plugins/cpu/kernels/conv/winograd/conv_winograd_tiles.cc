#include "kernels/conv/winograd/conv_winograd_tiles.h"

#include <algorithm>
#include <type_traits>

#include "kernels/conv/winograd/conv_winograd_rules.h"
#include "kernels/element/activation.h"
#include "kernels/stored.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Points of a tile: at steps, or each one's address, where some are outside the image.
template <class T>
struct Steps {
  const T* first;
  int64_t row, column;
  TENON_INLINE const T* operator()(int i, int j) const { return first + i * row + j * column; }
};
template <class T, int kSize>
struct Table {
  const T* at[kSize * kSize];
  TENON_INLINE const T* operator()(int i, int j) const { return at[i * kSize + j]; }
};

template <class T>
alignas(64) const T kOutside[kTileChannels] = {};

// Elements of the planes of a tile, a row or a column of six after the other: two addresses at a time, which the compiler
// would else compute for all 36 and spill.
template <class Float>
struct PlaneWalk {
  Float *next, *low, *high;
  const int64_t line, step;  // floats from a line to the next, from an element of a line to the next
  PlaneWalk(Float* first, int64_t to_line, int64_t to_step)
      : next(first), low(first), high(first), line(to_line), step(to_step) {}
  // Element k of a line; lines come in order, each begun with its first element.
  TENON_INLINE Float* at(int k) {
    if (k == 0) {
      low = next;
      high = low + 3 * step;
      next += line;
      asm volatile("" : "+r"(low), "+r"(high), "+r"(next));
    }
    return (k < 3 ? low : high) + k % 3 * step;
  }
};

template <class Rule, class Points>
__attribute__((noinline)) void transform_tile(const Points& points, int64_t n, int64_t plane, float* to) {
  using V = Lanes;
  static_assert(Rule::kOut == 6);
  int64_t c = 0;
  for (; c + V::kLanes <= n; c += V::kLanes) {
    PlaneWalk<float> rows(to + c, 6 * plane, plane);
    square<V, Rule>(
        [&](int i, int j) __attribute__((always_inline)) { return load_stored(points(i, j) + c); },
        [&](int, int j, V::Vector v) __attribute__((always_inline)) { V::store(rows.at(j), v); });
  }
  if (c == n) return;
  PlaneWalk<float> rows(to + c, 6 * plane, plane);
  square<V, Rule>(
      [&](int i, int j) __attribute__((always_inline)) { return load_stored(points(i, j) + c, n - c); },
      [&](int, int j, V::Vector v) __attribute__((always_inline)) { V::store(rows.at(j), v); });
}

template <class Rule, class T>
void transform_tiles(const T* from, const TiledImages& s, const TileGrid& grid, Slice tiles, int64_t first, int64_t n,
                     const Planes& planes, float* to) {
  constexpr int kSize = Rule::kIn;
  for (int64_t t = tiles.begin; t < tiles.end; ++t, to += planes.pitch) {
    const int64_t image = t / grid.per_image(), at = t % grid.per_image();
    const int64_t y = at / grid.columns * kWinogradStep - s.low_h, x = at % grid.columns * kWinogradStep - s.low_w;
    const T* const base = from + image * s.h * s.w * s.c + first;
    if (y >= 0 && x >= 0 && y + kSize <= s.h && x + kSize <= s.w) {
      transform_tile<Rule>(Steps<T>{base + (y * s.w + x) * s.c, s.w * s.c, s.c}, n, planes.plane, to);
      continue;
    }
    Table<T, kSize> table;
    for (int i = 0; i < kSize; ++i)
      for (int j = 0; j < kSize; ++j) {
        const bool inside = y + i >= 0 && y + i < s.h && x + j >= 0 && x + j < s.w;
        table.at[i * kSize + j] = inside ? base + ((y + i) * s.w + x + j) * s.c : kOutside<T>;
      }
    transform_tile<Rule>(table, n, planes.plane, to);
  }
}

// The part of a tile of results that is inside its image.
template <class T>
struct ResultTile {
  T* to;
  const float* residual;
  int64_t row, column;  // floats from a point to the next
  int64_t rows, columns;
};

// Channels [c, c + count) of a tile. Plain: whole vectors of a whole tile, without norm and residual, so that there are no
// branches; else Part: fewer than a vector.
template <bool Plain, bool Part, class T>
TENON_INLINE void restore_tile(const float* from, int64_t plane, const ResultTile<T>& tile, const TileEpilogue& e,
                               int64_t c, int64_t count) {
  using V = Lanes;
  using Vector = typename V::Vector;
  const auto mask = V::first(count);
  const auto get = [&](const float* p) __attribute__((always_inline)) { return Part ? V::load(p, mask) : V::load(p); };
  const Vector bias = e.bias ? get(e.bias + c) : Vector{};
  const bool normed = !Plain && e.norm.scale != nullptr;
  const Vector mean = normed ? get(e.norm.mean + c) : Vector{}, scale = normed ? get(e.norm.scale + c) : Vector{};
  const Vector shift = normed ? get(e.norm.shift + c) : Vector{};
  const Clip clip = Clip::of(e.act);
  PlaneWalk<const float> columns(from + c, plane, 6 * plane);
  square<V, ResultRule>(
      [&](int i, int) __attribute__((always_inline)) { return V::load(columns.at(i)); },
      [&](int i, int j, Vector v) __attribute__((always_inline)) {
        if (!Plain && (i >= tile.rows || j >= tile.columns)) return;
        const int64_t at = i * tile.row + j * tile.column + c;
        round_product(v);
        if (e.bias) v += bias;
        if (normed) v = (v - mean) * scale + shift;
        if (!Plain && tile.residual) v += get(tile.residual + at);
        v = clip.apply<V>(v);
        if (Part)
          store_stored(tile.to + at, v, count);
        else
          store_stored(tile.to + at, v);
      });
}

template <class T>
__attribute__((noinline)) void restore_channels(const float* from, int64_t plane, const ResultTile<T>& tile,
                                                const TileEpilogue& e, int64_t n) {
  int64_t c = 0;
  const bool plain = tile.rows == kWinogradStep && tile.columns == kWinogradStep && !tile.residual && !e.norm.scale;
  if (plain)
    for (; c + Lanes::kLanes <= n; c += Lanes::kLanes)
      restore_tile<true, false>(from, plane, tile, e, c, Lanes::kLanes);
  for (; c + Lanes::kLanes <= n; c += Lanes::kLanes) restore_tile<false, false>(from, plane, tile, e, c, Lanes::kLanes);
  if (c < n) restore_tile<false, true>(from, plane, tile, e, c, n - c);
  if constexpr (std::is_same_v<T, float>) {
    if (is_clip(e.act)) return;
    const ActLoop act = act_loop(e.act);
    for (int64_t i = 0; i < tile.rows; ++i)
      for (int64_t j = 0; j < tile.columns; ++j) {
        float* const y = tile.to + i * tile.row + j * tile.column;
        act(y, y, n, e.alpha);
      }
  }
}

}  // namespace

template <class T>
void transform_images(const T* from, const TiledImages& images, const TileGrid& grid, Slice tiles, int64_t first,
                      int64_t n, const Planes& planes, float* to) {
  transform_tiles<ImageRule>(from, images, grid, tiles, first, n, planes, to);
}

template <class T>
void transform_slopes(const T* from, const TiledImages& images, const TileGrid& grid, Slice tiles, int64_t first,
                      int64_t n, const Planes& planes, float* to) {
  transform_tiles<SlopeRule>(from, images, grid, tiles, first, n, planes, to);
}

void transform_filters(const float* from, int64_t tap, int64_t row, int64_t rows, int64_t n, const Planes& planes,
                       float* to) {
  for (int64_t r = 0; r < rows; ++r)
    transform_tile<FilterRule>(Steps<float>{from + r * row, 3 * tap, tap}, n, planes.plane, to + r * planes.pitch);
}

void restore_filters(const float* from, const Planes& planes, int64_t rows, int64_t n, int64_t tap, int64_t row,
                     float* to) {
  using V = Lanes;
  for (int64_t r = 0; r < rows; ++r, from += planes.pitch, to += row)
    for (int64_t c = 0; c < n; c += V::kLanes) {
      const int64_t count = std::min<int64_t>(V::kLanes, n - c);
      PlaneWalk<const float> columns(from + c, planes.plane, 6 * planes.plane);
      square<V, FilterGradRule>(
          [&](int i, int) __attribute__((always_inline)) { return V::load(columns.at(i)); },
          [&](int i, int j, typename V::Vector v)
              __attribute__((always_inline)) { V::store_part(to + (i * 3 + j) * tap + c, v, count); });
    }
}

template <class T>
void restore_images(const float* from, const Planes& planes, Slice tiles, const TileGrid& grid,
                    const TiledImages& images, int64_t n, const TileEpilogue& epilogue, T* to) {
  for (int64_t t = tiles.begin; t < tiles.end; ++t, from += planes.pitch) {
    const int64_t image = t / grid.per_image(), at = t % grid.per_image();
    const int64_t y = at / grid.columns * kWinogradStep, x = at % grid.columns * kWinogradStep;
    const int64_t point = ((image * images.h + y) * images.w + x) * images.c;
    ResultTile<T> tile;
    tile.to = to + point;
    tile.residual = epilogue.residual ? epilogue.residual + point : nullptr;
    tile.row = images.w * images.c;
    tile.column = images.c;
    tile.rows = std::min<int64_t>(kWinogradStep, images.h - y);
    tile.columns = std::min<int64_t>(kWinogradStep, images.w - x);
    restore_channels(from, planes.plane, tile, epilogue, n);
  }
}

#define TENON_TILES(T)                                                                                           \
  template void transform_images(const T*, const TiledImages&, const TileGrid&, Slice, int64_t, int64_t,         \
                                 const Planes&, float*);                                                         \
  template void transform_slopes(const T*, const TiledImages&, const TileGrid&, Slice, int64_t, int64_t,         \
                                 const Planes&, float*);                                                         \
  template void restore_images(const float*, const Planes&, Slice, const TileGrid&, const TiledImages&, int64_t, \
                               const TileEpilogue&, T*);
TENON_TILES(float)
TENON_TILES(Bfloat)
#undef TENON_TILES

}  // namespace tenon::cpu::TENON_CPU_ISA
