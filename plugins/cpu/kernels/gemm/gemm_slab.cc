#include "kernels/gemm/gemm_slab.h"

#include <algorithm>

#include "kernels/gemm/gemm_slab_tile.h"
#include "kernels/movement/transpose.h"
#include "kernels/pairs.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kBlockRows = 96;           // of A packed at a time: 100 KB
constexpr int64_t kBlockColumns = 512;       // of B packed at a time: 512 KB a slab
constexpr int64_t kKeptFloats = 256 * 1024;  // of B, which second-level caches hold beside what else is used
constexpr int64_t kAhead = 4;                // rows of B, which are fetched while one is packed
constexpr double kPackCost = 0.25;           // of an element, beside a step of one vector of sums

// Floats of a packed tile of A; tiles do not begin in the same set of the cache.
constexpr int64_t tile_room(int64_t depth) { return kSlabRows * depth + 16; }
constexpr int64_t kARoom = kBlockRows / kSlabRows * tile_room(kSlabDepth);

// Cycles a step of K takes a thread, about, for `rows` x `columns` of C.
double cost(int64_t rows, int64_t columns) {
  const int64_t tiles = ceil_div(rows, kSlabRows) * kSlabRows * ceil_div(columns, kSlabColumns) * kSlabColumns;
  return static_cast<double>(tiles) / 32 +
         kPackCost * static_cast<double>(rows * ceil_div(columns, kBlockColumns) + columns);
}

Slice share_of(int64_t n, int64_t unit, int64_t index, int64_t count) {
  const int64_t units = ceil_div(n, unit);
  return {std::min(n, units * index / count * unit), std::min(n, units * (index + 1) / count * unit)};
}

}  // namespace

// Lines of memory that will be packed next, fetched a few at a time into the cache of second level.
struct SlabProduct::Fetch {
  const float* at = nullptr;  // of the first stretch
  int64_t stretches = 0, lines = 0, step = 0;
  int64_t line = 0;
  void some(int64_t count, SlabFetch& to) {
    for (; count > 0 && stretches > 0; --count) {
      to.add(at + 16 * line);
      if (++line == lines) line = 0, at += step, --stretches;
    }
  }
};

SlabProduct::SlabProduct(const GemmShape& shape) : s_(shape) {
  depth_ = round_up(ceil_div(s_.k, ceil_div(s_.k, kSlabDepth)), 8);
  slabs_ = ceil_div(s_.k, depth_);
  panel_room_ = kSlabColumns * (depth_ + 1);
  kept_slabs_ = slabs_ * depth_ * std::min(kBlockColumns, s_.n) <= kKeptFloats ? slabs_ : 1;
  for (int64_t r = 0; r < kSlabRows; ++r) c_rows_.push_back(r * s_.n);
}

bool SlabProduct::suits(const GemmShape& s) {
#ifdef __AVX512F__
  return s.ta && s.batch == 1 && s.m >= 96 && s.n >= 64 && s.k >= 64;
#else
  return s.batch < 0;
#endif
}

uint64_t SlabProduct::thread_scratch_bytes() const {
  const int64_t panels = ceil_div(std::min(kBlockColumns, s_.n), kSlabColumns);
  return static_cast<uint64_t>(kARoom + kept_slabs_ * panels * panel_room_) * sizeof(float);
}

// Threads lie in a grid over C; the cheapest one is taken. No sum depends on it.
SlabProduct::Range SlabProduct::range_of(const Call& call) const {
  const int64_t count = call.count;
  int64_t down = 1;
  double least = 0;
  for (int64_t rows = 1; rows <= count; ++rows) {
    if (count % rows != 0) continue;
    const double one = cost(std::min(s_.m, ceil_div(ceil_div(s_.m, kSlabRows), rows) * kSlabRows),
                            std::min(s_.n, ceil_div(ceil_div(s_.n, kSlabColumns), count / rows) * kSlabColumns));
    if (rows == 1 || one < least) down = rows, least = one;
  }
  const Slice rows = share_of(s_.m, kSlabRows, call.index % down, down);
  const Slice columns = share_of(s_.n, kSlabColumns, call.index / down, count / down);
  return {rows.begin, rows.end - rows.begin, columns.begin, columns.end - columns.begin};
}

void SlabProduct::run(const Call& call, const GemmData& d) const {
  const Range range = range_of(call);
  if (range.rows <= 0) return;
  // Blocks of about the same size.
  const int64_t blocks = ceil_div(range.columns, kBlockColumns);
  for (int64_t i = 0; i < blocks; ++i) {
    const Slice part = share_of(range.columns, kSlabColumns, i, blocks);
    columns(d, {range.row, range.rows, range.column + part.begin, part.end - part.begin},
            static_cast<float*>(call.thread_scratch));
  }
}

void SlabProduct::columns(const GemmData& d, const Range& range, float* room) const {
  float* const a = room;
  float* const b = room + kARoom;
  const int64_t slab_room = ceil_div(range.columns, kSlabColumns) * panel_room_;
  for (int64_t first = 0; first < slabs_; first += kept_slabs_) {
    for (int64_t s = 0; s < kept_slabs_; ++s)
      pack_b(d.b, range.column, range.columns, (first + s) * depth_, std::min(depth_, s_.k - (first + s) * depth_),
             b + s * slab_room);
    for (int64_t r = 0; r < range.rows; r += kBlockRows) {
      const int64_t row = range.row + r, rows = std::min(kBlockRows, range.rows - r);
      for (int64_t s = 0; s < kept_slabs_; ++s) {
        const int64_t k = (first + s) * depth_;
        pack_a(d.a, row, rows, k, std::min(depth_, s_.k - k), a);
        Fetch next;
        const bool same = s + 1 < kept_slabs_;
        const int64_t next_row = same ? row : row + rows, next_k = same ? k + depth_ : first * depth_;
        if (next_row < range.row + range.rows) {
          const int64_t halves = s_.plain_a ? 2 : 1, rows_of_a = s_.pairs ? halves : 1;  // of each step of k
          next.at = d.a + (rows_of_a * next_k * s_.m + next_row) / halves;
          next.stretches = rows_of_a * std::min(depth_, s_.k - next_k);
          next.lines = ceil_div(std::min(kBlockRows, range.row + range.rows - next_row), 16 * halves);
          next.step = s_.m / halves;
        }
        block(d, {row, rows, range.column, range.columns}, k, a, b + s * slab_room, next);
      }
    }
  }
}

void SlabProduct::block(const GemmData& d, const Range& block, int64_t k, const float* a, const float* b,
                        Fetch& next) const {
  Panel panel;
  panel.pairs = s_.pairs;
  const bool last = k + depth_ >= s_.k;
  const int64_t depth = std::min(depth_, s_.k - k);
  panel.run_length = depth;
  panel.accumulate = k > 0;
  panel.act = last ? s_.act : TENON_ACT_NONE;
  panel.alpha = s_.alpha;
  const int64_t tiles = ceil_div(block.rows, kSlabRows) * ceil_div(block.columns, kSlabColumns);
  const int64_t fetches = ceil_div(next.stretches * next.lines, tiles);
  for (int64_t j = 0; j < block.columns; j += kSlabColumns, b += panel_room_) {
    const int64_t column = block.column + j;
    panel.columns = static_cast<int>(std::min(kSlabColumns, block.columns - j));
    panel.w = b;
    panel.bias = d.bias ? d.bias + column : nullptr;
    panel.norm = last ? d.norm.at(column) : ColumnNorm{};
    for (int64_t r = 0; r < block.rows; r += kSlabRows) {
      const int64_t at = (block.row + r) * s_.n + column;
      panel.a = a + r / kSlabRows * tile_room(depth);
      panel.c = d.c + at;
      panel.residual = last && d.residual ? d.residual + at : nullptr;
      // The next tile's sums arrive while those of this one are made.
      const bool below = r + kSlabRows < block.rows;
      const float* c = d.c + (below ? at + kSlabRows * s_.n : block.row * s_.n + column + panel.columns);
      const int64_t wide = below ? panel.columns : std::min(kSlabColumns, block.columns - j - panel.columns);
      const int64_t high = below ? std::min(kSlabRows, block.rows - r - kSlabRows) : std::min(kSlabRows, block.rows);
      SlabFetch fetch;
      for (int64_t i = 0; i < high; ++i)
        for (int64_t x = 0; x < wide; x += 16) fetch.add(c + i * s_.n + x);
      next.some(fetches, fetch);
      run_slab_tile(panel, c_rows_.data(), std::min(kSlabRows, block.rows - r), fetch);
    }
  }
}

// A step of k of two rows of bf16, paired, or of the one that `rows` begins with, widened.
inline void SlabProduct::pack_halves(const uint16_t* rows, int64_t ld, int64_t n, uint32_t* to) const {
  s_.pairs ? pair_words(rows, rows + ld, n, to) : widen_halves(rows, n, to);
}

// The same tiles, of bf16 as it lies.
void SlabProduct::pair_a(const uint16_t* a, int64_t row, int64_t rows, int64_t at, int64_t depth, float* out) const {
  const int64_t tiles = rows / kSlabRows, rest = rows % kSlabRows;
  uint32_t* const words = reinterpret_cast<uint32_t*>(out);
  for (int64_t k = 0; k < depth; ++k) {
    const uint16_t* from = a + first_row(at + k) * s_.m + row;
    uint32_t* to = words + k * kSlabRows;
    for (int64_t t = 0; t < tiles; ++t, from += kSlabRows, to += tile_room(depth))
      pack_halves(from, s_.m, kSlabRows, to);
    pack_halves(from, s_.m, rest, to);
  }
}

void SlabProduct::pair_b(const uint16_t* b, int64_t column, int64_t columns, int64_t at, int64_t depth,
                         float* out) const {
  const int64_t whole = columns / kSlabColumns;
  const int64_t rest = columns % kSlabColumns, width = rest <= 16 ? 16 : 32;
  uint32_t *const words = reinterpret_cast<uint32_t*>(out), *const end = words + whole * panel_room_;
  if (rest > 0) std::fill(end, end + depth * width, 0u);
  for (int64_t k = 0; k < depth; ++k) {
    const uint16_t* from = b + first_row(at + k) * s_.n + column;
    uint32_t* to = words + k * kSlabColumns;
    for (int64_t j = 0; j < whole; ++j, from += kSlabColumns, to += panel_room_) {
      __builtin_prefetch(from + 2 * kAhead * s_.n);
      if (s_.pairs) __builtin_prefetch(from + (2 * kAhead + 1) * s_.n);
      pack_halves(from, s_.n, kSlabColumns, to);
    }
    pack_halves(from, s_.n, rest, end + k * width);
  }
}

void SlabProduct::pack_a(const float* a, int64_t row, int64_t rows, int64_t at, int64_t depth, float* out) const {
  if (s_.plain_a) return pair_a(reinterpret_cast<const uint16_t*>(a), row, rows, at, depth, out);
  const int64_t tiles = rows / kSlabRows, rest = rows % kSlabRows;
  const Lanes::Mask twelve = Lanes::first(std::min<int64_t>(kSlabRows, Lanes::kLanes));
  for (int64_t k = 0; k < depth; ++k) {
    const float* from = a + (at + k) * s_.m + row;
    float* to = out + k * kSlabRows;
    // The four too many are overwritten by the next k, or lie between tiles.
    for (int64_t t = 0; t < tiles; ++t, from += kSlabRows, to += tile_room(depth))
      Lanes::store(to, Lanes::load(from, twelve));
    for (int64_t i = 0; i < rest; ++i) to[i] = from[i];
  }
}

void SlabProduct::pack_b(const float* b, int64_t column, int64_t columns, int64_t at, int64_t depth, float* out) const {
  if (s_.plain_b) return pair_b(reinterpret_cast<const uint16_t*>(b), column, columns, at, depth, out);
  const int64_t whole = columns / kSlabColumns;
  const int64_t rest = columns % kSlabColumns, width = rest <= 16 ? 16 : 32;
  float* const end = out + whole * panel_room_;
  if (rest > 0) std::fill(end, end + depth * width, 0.f);
  if (s_.tb) {
    for (int64_t j = 0; j < whole; ++j)
      transpose(b + (column + j * kSlabColumns) * s_.k + at, kSlabColumns, depth, s_.k, out + j * panel_room_,
                kSlabColumns);
    if (rest > 0) transpose(b + (column + whole * kSlabColumns) * s_.k + at, rest, depth, s_.k, end, width);
    return;
  }
  for (int64_t k = 0; k < depth; ++k) {
    const float* from = b + (at + k) * s_.n + column;
    float* to = out + k * kSlabColumns;
    for (int64_t j = 0; j < whole; ++j, from += kSlabColumns, to += panel_room_)
      for (int64_t x = 0; x < kSlabColumns; x += Lanes::kLanes) {
        __builtin_prefetch(from + kAhead * s_.n + x);
        Lanes::store(to + x, Lanes::load(from + x));
      }
    for (int64_t x = 0; x < rest; ++x) end[k * width + x] = from[x];
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
