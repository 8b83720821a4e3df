#include "kernels/conv/pooled/conv_winners.h"

#include "kernels/conv/pooled/conv_planar_pool.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kNearFloats = 8 * 1024;  // of x with halo: 32 KB, in L1
constexpr int64_t kLongRun = 12;           // floats of a kernel row that are worth a list
constexpr int64_t kWinnerChunks = 12;
constexpr int kMostVectors = Lanes::kLanes == 16 ? 24 : 12;  // of sums in registers

// V vectors of each of R kernel rows, `pitch` apart in x, for all winners of a list.
template <int R, int V, class Winners>
TENON_INLINE void add_rows(const float* x, int64_t pitch, const Winners& winners, float* sums, int64_t padded) {
  using Vector = Lanes::Vector;
  constexpr int kLanes = Lanes::kLanes;
  Vector acc[R][V];
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) acc[r][v] = Lanes::load(sums + r * padded + v * kLanes);
  for (int64_t i = 0; i < winners.count; ++i) {
    const float* const from = x + winners.at[i];
    const Vector dy = Lanes::splat(winners.dy[i]);
#pragma GCC unroll 5
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 24
      for (int v = 0; v < V; ++v) acc[r][v] += dy * Lanes::load(from + r * pitch + v * kLanes);
  }
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) Lanes::store(sums + r * padded + v * kLanes, acc[r][v]);
}

// The same for a number of vectors that is known when it runs.
template <int R, int V, class Winners>
__attribute__((noinline)) void add_some(int64_t vectors, const float* x, int64_t pitch, const Winners& winners,
                                        float* sums, int64_t padded) {
  if constexpr (V > 0) {
    if (vectors == V) return add_rows<R, V>(x, pitch, winners, sums, padded);
    add_some<R, V - 1>(vectors, x, pitch, winners, sums, padded);
  }
}

// Writes the windows of a vector whose dy is not 0 one after the other and returns their number. May write more behind.
TENON_INLINE int64_t keep(Lanes::Vector dy, Lanes::Ints at, float* to_dy, int32_t* to_at) {
#ifdef __AVX512F__
  const auto mask = static_cast<uint16_t>(~__builtin_ia32_cmpps512_mask(dy, Lanes::Vector{}, 0, 0xffff, 4));
  Lanes::store(to_dy, __builtin_ia32_compresssf512_mask(dy, Lanes::Vector{}, mask));
  const Lanes::Ints kept = __builtin_ia32_compresssi512_mask(at, Lanes::Ints{}, mask);
  std::memcpy(to_at, &kept, sizeof kept);
  return __builtin_popcount(mask);
#else
  // Every one is written and counts where it is not 0: no branch to guess wrong.
  int64_t count = 0;
  for (int i = 0; i < Lanes::kLanes; ++i) {
    to_dy[count] = dy[i];
    to_at[count] = at[i];
    count += dy[i] != 0;
  }
  return count;
#endif
}

}  // namespace

bool WinnerFilterGrad::suits(const ConvShape& s) {
  const bool flat = s.x[0] == 1 && s.y[0] == 1 && s.k[0] == 1 && s.dilation[1] == 1 && s.dilation[2] == 1;
  return flat && s.groups == 1 && s.flops() >= 1e6;
}

WinnerFilterGrad::WinnerFilterGrad(const ConvShape& shape) : s_(shape) {
  run_ = s_.k[2] * s_.c;
  lists_ = run_ >= kLongRun;
  padded_ = lists_ ? round_up(run_, 16) : run_;
  size_ = s_.o * s_.k[1] * padded_;
  width_ = (s_.y[2] - 1) * s_.stride[2] + s_.k[2];
  direct_ = s_.low[1] == 0 && s_.low[2] == 0 && width_ <= s_.x[2] && (s_.y[1] - 1) * s_.stride[1] + s_.k[1] <= s_.x[1];
  if (direct_) width_ = s_.x[2];
  const auto height = [&](int64_t rows) { return (2 * rows - 1) * s_.stride[1] + s_.k[1]; };
  const int64_t all = s_.y[1] / 2;
  rows_ = 1;
  while (rows_ < all && height(rows_ + 1) * width_ * s_.c <= kNearFloats) ++rows_;
  blocks_ = ceil_div(all, rows_);
  rows_ = ceil_div(all, blocks_);
  height_ = height(rows_);
  windows_ = rows_ * (s_.y[2] / 2);
  half_ = round_up(s_.y[2] / 2, Lanes::kLanes);
  list_ = windows_ + Lanes::kLanes;
  source_ = round_up(height_ * width_ * s_.c + padded_, 16);  // vectors reach past the last run
  units_ = s_.batch * blocks_;
  chunks_ = std::min(units_, kWinnerChunks);
}

void WinnerFilterGrad::run(const Call& call, const ConvData& d) const {
  float* const room = static_cast<float*>(call.thread_scratch);
  const Data data{d.from, d.weights, d.winner, room, room + source_};
  const Slice part = call.share(chunks_);
  for (int64_t i = part.begin; i < part.end; ++i)
    chunk(units_ * i / chunks_, units_ * (i + 1) / chunks_, data, static_cast<float*>(call.scratch) + i * size_);
  call.barrier();
  add_up(call, d.to);
}

void WinnerFilterGrad::chunk(int64_t first_unit, int64_t last_unit, const Data& data, float* sums) const {
  std::fill(sums, sums + size_, 0.0f);
  std::fill(data.source + height_ * width_ * s_.c, data.source + source_, 0.0f);
  if (lists_) std::fill_n(data.room, 2 * s_.o * rows_ * half_, 0.0f);  // past the windows of a row, where dy is 0
  for (int64_t u = first_unit; u < last_unit; ++u) {
    const float* const x = source_of(data, u);
    lists_ ? add_lists(data, u, x, sums) : add_places(data, u, x, sums);
  }
}

// The rows of windows of the unit.
int64_t WinnerFilterGrad::rows_of(int64_t unit) const { return std::min(rows_, s_.y[1] / 2 - unit % blocks_ * rows_); }

// The part of x that the unit's windows see: in place, or copied with its halo. The end of x is copied too, since vectors
// read past it.
const float* WinnerFilterGrad::source_of(const Data& data, int64_t unit) const {
  const int64_t image = unit / blocks_, row = unit % blocks_ * rows_;
  const float* const x = data.x + image * s_.x_points() * s_.c;
  if (direct_ && unit + 1 < units_) return x + 2 * row * s_.stride[1] * width_ * s_.c;
  const Point size{{1, s_.x[1], s_.x[2]}}, extent{{1, height_, width_}};
  const Point first{{0, 2 * row * s_.stride[1] - s_.low[1], -s_.low[2]}};
  copy_halo(x, size, s_.c, first, extent, s_.c, data.source);
  return data.source;
}

int64_t WinnerFilterGrad::first_window(int64_t unit) const {
  return (unit / blocks_ * (s_.y[1] / 2) + unit % blocks_ * rows_) * (s_.y[2] / 2);
}

void WinnerFilterGrad::add_lists(const Data& data, int64_t unit, const float* x, float* sums) const {
  const int64_t rows = rows_of(unit), across = s_.y[2] / 2, plane = rows_ * half_;
  float* const dp = data.room;
  auto* const winner = reinterpret_cast<int32_t*>(dp + s_.o * plane);
  auto* const line = winner + s_.o * plane;
  Winners winners{line + across * s_.o, reinterpret_cast<float*>(line + across * s_.o + list_), 0};
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t at = (first_window(unit) + i * across) * s_.o;
    load_windows(data.dp + at, data.winner + at, across, s_.o, plane, line, dp + i * half_, winner + i * half_);
  }
  for (int64_t o = 0; o < s_.o; ++o) {
    list(dp + o * plane, winner + o * plane, rows, &winners);
    add(winners, x, sums + o * s_.k[1] * padded_);
  }
}

// The winners of a filter, [rows, half_] of them.
void WinnerFilterGrad::list(const float* dp, const int32_t* winner, int64_t rows, Winners* to) const {
  using Ints = Lanes::Ints;
  constexpr int kLanes = Lanes::kLanes;
  const auto right = static_cast<int32_t>(s_.stride[2] * s_.c),
             down = static_cast<int32_t>(s_.stride[1] * width_ * s_.c);
  Ints lanes = {};
  for (int i = 0; i < kLanes; ++i) lanes[i] = 2 * right * i;
  to->count = 0;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < half_; j += kLanes) {
      const Ints place = load_as<Ints>(winner + i * half_ + j) & 3;
      const Ints at =
          lanes + static_cast<int32_t>(2 * (i * down + j * right)) + (place & 1) * right + (place >> 1) * down;
      to->count += keep(Lanes::load(dp + i * half_ + j), at, to->dy + to->count, to->at + to->count);
    }
}

void WinnerFilterGrad::add(const Winners& winners, const float* x, float* sums) const {
  constexpr int64_t kLanes = Lanes::kLanes;
  const int64_t vectors = ceil_div(run_, kLanes), pitch = width_ * s_.c;
  int64_t r = 0;
  if (vectors * 5 <= kMostVectors)
    for (; r + 5 <= s_.k[1]; r += 5)
      add_some<5, kMostVectors / 5>(vectors, x + r * pitch, pitch, winners, sums + r * padded_, padded_);
  if (vectors * 3 <= kMostVectors)
    for (; r + 3 <= s_.k[1]; r += 3)
      add_some<3, kMostVectors / 3>(vectors, x + r * pitch, pitch, winners, sums + r * padded_, padded_);
  for (; r < s_.k[1]; ++r)
    for (int64_t v = 0; v < vectors; v += kMostVectors)
      add_some<1, kMostVectors>(std::min<int64_t>(vectors - v, kMostVectors), x + r * pitch + v * kLanes, pitch,
                                winners, sums + r * padded_ + v * kLanes, padded_);
}

// To the layout of dw, where the sums have another.
void WinnerFilterGrad::add_up(const Call& call, float* dw) const {
  const float* const partial = static_cast<const float*>(call.scratch);
  const Slice part = call.share(s_.k[1] * run_);
  const int64_t step = lists_ ? s_.k[1] * padded_ : 1;
  for (int64_t i = part.begin; i < part.end; ++i) {
    const float* const from = partial + (lists_ ? i / run_ * padded_ + i % run_ : i * s_.o);
    for (int64_t o = 0; o < s_.o; ++o) {
      float sum = from[o * step];
      for (int64_t k = 1; k < chunks_; ++k) sum += from[k * size_ + o * step];
      dw[i * s_.o + o] = sum;
    }
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
