#include "kernels/gemm/gemm_thin.h"

#include <algorithm>

#include "kernels/element/activation.h"
#include "kernels/movement/transpose.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int kSums = Lanes::kLanes == 16 ? 24 : 12;  // in registers
constexpr int64_t kMostRows = 32;                     // of A: four vectors of them or two
constexpr int64_t kFewestRows = 16;                   // whatever of their vectors they fill
constexpr int64_t kThinDepth = 256;                   // terms packed of A, where B lies in their order
constexpr int64_t kLeastDepth = 24;                   // where it does not: less does not pay for turning C,
constexpr int64_t kWholeDepth = 4096;                 // and more would not fit, as all of them are packed
constexpr int64_t kThinWeights = 256 * 1024;          // elements of B, more than caches next to a core keep
constexpr int kSteps = 4;                             // of k, in which lines are fetched

// R columns of C x NV vectors of its rows.
struct Tile {
  const float* b;  // B(column r, k) = b[r * b_row + k * b_step]
  int64_t b_row, b_step;
  const float* a;  // [depth][NV vectors]
  int64_t depth;
  float* sums;      // [R][NV vectors]
  bool accumulate;  // add to them
  Clip clip;
  const float* bias;  // [R] or nullptr: else what sums begin with
  const float* next;  // of B: as much is fetched as the tile reads
};

template <int NV, int R>
__attribute__((noinline)) void thin_tile(const Tile& t) {
  using V = Lanes;
  constexpr int kRows = 3;  // that share a pointer
  constexpr int kPointers = (R + kRows - 1) / kRows;
  constexpr int kFetched = (R * kSteps + 15) / 16;
  V::Vector acc[R][NV];
#pragma GCC unroll 24
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v)
      acc[r][v] = t.accumulate ? V::load(t.sums + (r * NV + v) * V::kLanes) : V::splat(t.bias ? t.bias[r] : 0);
  const float* b[kPointers];
#pragma GCC unroll 8
  for (int i = 0; i < kPointers; ++i) b[i] = t.b + kRows * i * t.b_row;
  const float *a = t.a, *next = t.next;
  const int64_t row = t.b_row;
  const auto step = [&]() __attribute__((always_inline)) {
    V::Vector x[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) x[v] = V::load(a + v * V::kLanes);
#pragma GCC unroll 24
    for (int r = 0; r < R; ++r) {
      const V::Vector weight = V::splat(b[r / kRows][r % kRows * row]);
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) acc[r][v] += weight * x[v];
    }
    a += NV * V::kLanes;
#pragma GCC unroll 8
    for (int i = 0; i < kPointers; ++i) b[i] += t.b_step;
    asm volatile("" ::: "memory");  // loads drawn together would spill sums
  };
  int64_t k = 0;
  for (; k + kSteps <= t.depth; k += kSteps) {
#pragma GCC unroll 8
    for (int i = 0; i < kFetched; ++i) __builtin_prefetch(next + 16 * i, 0, 2);
    next += 16 * kFetched;
#pragma GCC unroll 4
    for (int i = 0; i < kSteps; ++i) step();
  }
  for (; k < t.depth; ++k) step();
#pragma GCC unroll 24
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) V::store(t.sums + (r * NV + v) * V::kLanes, t.clip.apply<V>(acc[r][v]));
}

template <int NV, int R>
void thin_rows(const Tile& t, int64_t rows) {
  if constexpr (R > 0) {
    if (rows == R) return thin_tile<NV, R>(t);
    thin_rows<NV, R - 1>(t, rows);
  }
}

void thin(const Tile& t, int64_t vectors, int64_t rows) {
  switch (vectors) {
    case 1:
      return thin_rows<1, kSums / 2>(t, rows);
    case 2:
      return thin_rows<2, kSums / 2>(t, rows);
    case 3:
      return thin_rows<3, kSums / 3>(t, rows);
    default:
      return thin_rows<4, kSums / 4>(t, rows);
  }
}

}  // namespace

bool ThinProduct::suits(const GemmShape& s) {
  const bool fills_vectors = s.m >= 8 && 4 * round_up(s.m, Lanes::kLanes) <= 5 * s.m;
  const bool is_read_once = s.tb && s.m <= kFewestRows;  // then B takes longer to arrive than to multiply
  return s.batch == 1 && !s.ta && s.a_at.empty() && s.m <= kMostRows && (fills_vectors || is_read_once) &&
         s.k * s.n >= kThinWeights && (!s.tb || (s.k >= kLeastDepth && s.k <= kWholeDepth));
}

ThinProduct::ThinProduct(const GemmShape& shape, bool partial) : s_(shape) {
  if (partial) s_.act = TENON_ACT_NONE;
  width_ = round_up(s_.m, Lanes::kLanes);
  const int64_t vectors = width_ / Lanes::kLanes;
  tile_ = vectors == 1 ? kSums / 2 : kSums / vectors;
  depth_ = s_.tb ? s_.k : std::min(s_.k, kThinDepth);
  columns_ = s_.tb ? round_up(192, tile_) : s_.n;
}

uint64_t ThinProduct::thread_scratch_bytes() const {
  return static_cast<uint64_t>((depth_ + round_up(columns_, tile_)) * width_ + 16) * sizeof(float);
}

void ThinProduct::pack(const float* a, int64_t k, int64_t depth, float* to) const {
  if (width_ > s_.m) std::fill_n(to, depth * width_, 0.0f);
  transpose(a + k, s_.m, depth, s_.k, to, width_);
}

void ThinProduct::run(const GemmData& d, Slice at, int64_t k, int64_t depth, bool first, float* room) const {
  float* const a = room;
  float* const sums = room + depth_ * width_;
  Tile t;
  t.b_row = s_.tb ? s_.k : 1;
  t.b_step = s_.tb ? 1 : s_.n;
  t.a = a;
  const int64_t end = k + depth, columns = at.end - at.begin;
  for (int64_t i = k; i < end; i += depth_) {
    t.depth = std::min(depth_, end - i);
    if (!s_.tb || first) pack(d.a, i, t.depth, a);
    t.accumulate = i > k;
    t.clip = i + depth_ >= end ? Clip::of(s_.act) : Clip{};
    const float* const later = d.b + std::min(i + depth_, s_.k - t.depth) * s_.n;
    for (int64_t j = 0; j < columns; j += tile_) {
      const int64_t column = at.begin + j;
      t.b = d.b + column * t.b_row + i * t.b_step;
      t.next = s_.tb ? d.b + std::min(column + tile_, s_.n - 1) * s_.k : later + j * t.depth;
      t.sums = sums + j * width_;
      t.bias = d.bias ? d.bias + column : nullptr;
      thin(t, width_ / Lanes::kLanes, std::min(tile_, columns - j));
    }
  }
  float* const c = d.c + at.begin;
  transpose(sums, columns, s_.m, width_, c, s_.n);
  if (is_clip(s_.act)) return;
  const ActLoop act = act_loop(s_.act);
  for (int64_t r = 0; r < s_.m; ++r) act(c + r * s_.n, c + r * s_.n, columns, s_.alpha);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
