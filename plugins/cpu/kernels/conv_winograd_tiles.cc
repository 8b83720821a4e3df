#include "kernels/conv_winograd_tiles.h"

#include <algorithm>

#include "kernels/activation.h"
#include "kernels/conv_winograd_rules.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Points of a tile: at steps, or each one's address, where some are outside the image.
struct Steps {
  const float* first;
  int64_t row, column;
  TENON_INLINE const float* operator()(int i, int j) const { return first + i * row + j * column; }
};
template <int kSize>
struct Table {
  const float* at[kSize * kSize];
  TENON_INLINE const float* operator()(int i, int j) const { return at[i * kSize + j]; }
};

alignas(64) constexpr float kOutside[kTileChannels] = {};

template <class Rule, class Points>
__attribute__((noinline)) void transform_tile(const Points& points, int64_t n, int64_t plane, float* to) {
  using V = Lanes;
  const auto store = [&](int64_t c) __attribute__((always_inline)) {
    return [=](int i, int j, typename V::Vector v) __attribute__((always_inline)) {
      V::store(to + (i * Rule::kOut + j) * plane + c, v);
    };
  };
  int64_t c = 0;
  for (; c + V::kLanes <= n; c += V::kLanes)
    square<V, Rule>(
        [&](int i, int j) __attribute__((always_inline)) { return V::load(points(i, j) + c); }, store(c));
  if (c == n) return;
  const auto mask = V::first(n - c);
  square<V, Rule>(
      [&](int i, int j) __attribute__((always_inline)) { return V::load(points(i, j) + c, mask); }, store(c));
}

template <class Rule>
void transform_tiles(const float* from, const TiledImages& s, const TileGrid& grid, Slice tiles, int64_t first,
                     int64_t n, const Planes& planes, float* to) {
  constexpr int kSize = Rule::kIn;
  for (int64_t t = tiles.begin; t < tiles.end; ++t, to += planes.pitch) {
    const int64_t image = t / grid.per_image(), at = t % grid.per_image();
    const int64_t y = at / grid.columns * kWinogradStep - s.low_h, x = at % grid.columns * kWinogradStep - s.low_w;
    const float* const base = from + image * s.h * s.w * s.c + first;
    if (y >= 0 && x >= 0 && y + kSize <= s.h && x + kSize <= s.w) {
      transform_tile<Rule>(Steps{base + (y * s.w + x) * s.c, s.w * s.c, s.c}, n, planes.plane, to);
      continue;
    }
    Table<kSize> table;
    for (int i = 0; i < kSize; ++i)
      for (int j = 0; j < kSize; ++j) {
        const bool inside = y + i >= 0 && y + i < s.h && x + j >= 0 && x + j < s.w;
        table.at[i * kSize + j] = inside ? base + ((y + i) * s.w + x + j) * s.c : kOutside;
      }
    transform_tile<Rule>(table, n, planes.plane, to);
  }
}

// The part of a tile of results that is inside its image.
struct ResultTile {
  float* to;
  const float* residual;
  int64_t row, column;  // floats from a point to the next
  int64_t rows, columns;
};

// Channels [c, c + count) of a tile; Part: fewer than a vector.
template <class V, bool Part>
TENON_INLINE void restore_tile(const float* from, int64_t plane, const ResultTile& tile, const TileEpilogue& e,
                               int64_t c, int64_t count) {
  using Vector = typename V::Vector;
  const auto mask = V::first(count);
  const auto get = [&](const float* p) __attribute__((always_inline)) { return Part ? V::load(p, mask) : V::load(p); };
  const Vector bias = e.bias ? get(e.bias + c) : Vector{};
  const bool normed = e.norm.scale != nullptr;
  const Vector mean = normed ? get(e.norm.mean + c) : Vector{}, scale = normed ? get(e.norm.scale + c) : Vector{};
  const Vector shift = normed ? get(e.norm.shift + c) : Vector{};
  const Vector floor = V::splat(e.act == TENON_ACT_RELU ? 0 : -__builtin_inff());
  square<V, ResultRule>(
      [&](int i, int j) __attribute__((always_inline)) { return V::load(from + (i * 6 + j) * plane + c); },
      [&](int i, int j, Vector v) __attribute__((always_inline)) {
        if (i >= tile.rows || j >= tile.columns) return;
        const int64_t at = i * tile.row + j * tile.column + c;
        v += bias;
        if (normed) v = (v - mean) * scale + shift;
        if (tile.residual) v += get(tile.residual + at);
        v = V::max(floor, v);  // NaN stays
        if (Part)
          V::store_part(tile.to + at, v, count);
        else
          V::store(tile.to + at, v);
      });
}

__attribute__((noinline)) void restore_channels(const float* from, int64_t plane, const ResultTile& tile,
                                                const TileEpilogue& e, int64_t n) {
  int64_t c = 0;
  for (; c + Lanes::kLanes <= n; c += Lanes::kLanes) restore_tile<Lanes, false>(from, plane, tile, e, c, Lanes::kLanes);
  if (c < n) restore_tile<Lanes, true>(from, plane, tile, e, c, n - c);
  if (e.act <= TENON_ACT_RELU) return;
  const ActLoop act = act_loop(e.act);
  for (int64_t i = 0; i < tile.rows; ++i)
    for (int64_t j = 0; j < tile.columns; ++j) {
      float* const y = tile.to + i * tile.row + j * tile.column;
      act(y, y, n, e.alpha);
    }
}

}  // namespace

void transform_images(const float* from, const TiledImages& images, const TileGrid& grid, Slice tiles, int64_t first,
                      int64_t n, const Planes& planes, float* to) {
  transform_tiles<ImageRule>(from, images, grid, tiles, first, n, planes, to);
}

void transform_slopes(const float* from, const TiledImages& images, const TileGrid& grid, Slice tiles, int64_t first,
                      int64_t n, const Planes& planes, float* to) {
  transform_tiles<SlopeRule>(from, images, grid, tiles, first, n, planes, to);
}

void transform_filters(const float* from, int64_t tap, int64_t row, int64_t rows, int64_t n, const Planes& planes,
                       float* to) {
  for (int64_t r = 0; r < rows; ++r)
    transform_tile<FilterRule>(Steps{from + r * row, 3 * tap, tap}, n, planes.plane, to + r * planes.pitch);
}

void restore_filters(const float* from, const Planes& planes, int64_t rows, int64_t n, int64_t tap, int64_t row,
                     float* to) {
  using V = Lanes;
  for (int64_t r = 0; r < rows; ++r, from += planes.pitch, to += row)
    for (int64_t c = 0; c < n; c += V::kLanes) {
      const int64_t count = std::min<int64_t>(V::kLanes, n - c);
      square<V, FilterGradRule>(
          [&](int i, int j) __attribute__((always_inline)) { return V::load(from + (i * 6 + j) * planes.plane + c); },
          [&](int i, int j, typename V::Vector v)
              __attribute__((always_inline)) { V::store_part(to + (i * 3 + j) * tap + c, v, count); });
    }
}

void restore_images(const float* from, const Planes& planes, Slice tiles, const TileGrid& grid,
                    const TiledImages& images, int64_t n, const TileEpilogue& epilogue, float* to) {
  for (int64_t t = tiles.begin; t < tiles.end; ++t, from += planes.pitch) {
    const int64_t image = t / grid.per_image(), at = t % grid.per_image();
    const int64_t y = at / grid.columns * kWinogradStep, x = at % grid.columns * kWinogradStep;
    const int64_t point = ((image * images.h + y) * images.w + x) * images.c;
    ResultTile tile;
    tile.to = to + point;
    tile.residual = epilogue.residual ? epilogue.residual + point : nullptr;
    tile.row = images.w * images.c;
    tile.column = images.c;
    tile.rows = std::min<int64_t>(kWinogradStep, images.h - y);
    tile.columns = std::min<int64_t>(kWinogradStep, images.w - x);
    restore_channels(from, planes.plane, tile, epilogue, n);
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
