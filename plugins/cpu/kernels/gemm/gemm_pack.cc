// Parts of A and B on their way to the tile: in panels and tiles as it reads them, of bf16 paired or widened.
#include <algorithm>

#include "kernels/bf16.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/tiles/matrix_tile.h"
#include "kernels/movement/transpose.h"
#include "kernels/pairs.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

TENON_INLINE f32x8 eight(const float* p) { return load8(p); }
TENON_INLINE f32x8 eight(const uint16_t* p) { return widen_bf16<Lanes8>(load_as<Halves<Lanes8>>(p)); }
TENON_INLINE float one(float x) { return x; }
TENON_INLINE float one(uint16_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }

}  // namespace

void Gemm::pack_b(const float* b, const Block& block, int64_t at, int64_t depth, float* out) const {
  if (s_.plain_b && !s_.tb) {
    const uint16_t* const rows = reinterpret_cast<const uint16_t*>(b) + (s_.pairs ? 2 : 1) * at * s_.n + block.column;
    if (!s_.pairs) return widen_panels(rows, depth, block.columns, s_.n, kc_, out);
    return pair_panels(rows, rows + s_.n, depth, block.columns, 2 * s_.n, kc_, out);
  }
  if (!s_.tb) return pack_panels(b + at * s_.n + block.column, depth, block.columns, s_.n, kc_, out);
  for (int64_t j = 0; j < block.columns;) {
    const int64_t columns = panel_columns(block.columns - j), width = padded_columns(columns);
    float* to = out + j * kc_;
    if (columns < width) std::fill(to, to + depth * width, 0.0f);
    turn_b(b, block.column + j, columns, at, depth, to);
    j += columns;
  }
}

void Gemm::turn_b(const float* b, int64_t row, int64_t rows, int64_t at, int64_t depth, float* out) const {
  const int64_t width = padded_columns(rows);
  if (!s_.plain_b) return transpose(b + row * s_.k + at, rows, depth, s_.k, out, width);
  // Words of two are turned to the end of the panel; what they hold is written over them.
  float* const words = out + depth / 2 * width;
  transpose(b + (row * s_.k + at) / 2, rows, depth / 2, s_.k / 2, words, width);
  using Two = Pairs<Lanes8>;
  for (int64_t i = 0; i < depth / 2 * width; i += Two::kLanes) {
    const Two::Vector word = Two::load(words + i);
    float* const to = out + (i / width * 2) * width + i % width;
    Two::store(to, Two::high(word));
    Two::store(to + width, Two::low(word));
  }
}

// Tiles of [depth][6] rows, four at a time (of halves eight), so that what is read of a row of A is whole cache lines.
// Rows past the end are not read by the tiles that follow.
template <class T>
void Gemm::pack_tiles(const T* a, int64_t row, int64_t rows, int64_t at, int64_t depth, float* out) const {
  constexpr int64_t kOther = sizeof(T) == 2 ? 1 : 0;  // of a pair the second row comes first
  constexpr int64_t kGroup = 16 / sizeof(T) * kTileRows;
  for (int64_t r = 0; r < rows; r += kGroup) {
    const int64_t tiles = std::min(kGroup, rows - r) / kTileRows, rest = std::min(kGroup, rows - r) % kTileRows;
    float* to = out + r / kTileRows * tile_room();
    // Eight at a time: the two too many are overwritten by the next k or lie between tiles; A may end there.
    const bool inside = row + r + tiles * kTileRows + 2 <= s_.m;
    for (int64_t k = at; k < at + depth; ++k, to += kTileRows) {
      const int64_t own = k ^ kOther;
      const T* const from = a + own * s_.m + row + r;
      const int64_t eights = inside || own + 1 < s_.k ? tiles : std::max<int64_t>(0, tiles - 1);
      for (int64_t t = 0; t < eights; ++t) store8(to + t * tile_room(), eight(from + t * kTileRows));
      for (int64_t i = eights * kTileRows; i < tiles * kTileRows + rest; ++i)
        to[i / kTileRows * tile_room() + i % kTileRows] = one(from[i]);
    }
  }
}

// Rows of words, of which what lies in memory are the columns.
void Gemm::turn_a(const float* a, int64_t row, int64_t rows, int64_t at, int64_t depth, float* out) const {
  float* const words = out + round_up(mc_ * packed_row(), 16);
  for (int64_t k = 0; k < depth; k += kTileSide) {
    const int64_t some = std::min(kTileSide, depth - k), first = at + k;
    if (!s_.plain_a) {
      transpose(a + first * s_.m + row, some, rows, s_.m, out + k, packed_row());
      continue;
    }
    const uint16_t* const halves = reinterpret_cast<const uint16_t*>(a) + 2 * first * s_.m + row;
    for (int64_t i = 0; i < some; ++i)
      pair_words(halves + 2 * i * s_.m, halves + (2 * i + 1) * s_.m, rows,
                 reinterpret_cast<uint32_t*>(words + i * mc_));
    transpose(words, some, rows, mc_, out + k, packed_row());
  }
}

void Gemm::pack_a(const float* a, int64_t row, int64_t rows, int64_t at, int64_t depth, float* out) const {
  if (turns_a()) return turn_a(a, row, rows, at, depth, out);
  if (!s_.plain_a) return pack_tiles(a, row, rows, at, depth, out);
  const uint16_t* const halves = reinterpret_cast<const uint16_t*>(a);
  if (s_.ta) return pack_tiles(halves, row, rows, at, depth, out);
  for (int64_t r = 0; r < rows; ++r)
    widen_pairs(halves + (row + r) * s_.k + at, depth / 2, reinterpret_cast<uint32_t*>(out + r * packed_row()));
}

}  // namespace tenon::cpu::TENON_CPU_ISA
