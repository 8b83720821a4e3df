#include "kernels/conv_winners.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kNearFloats = 8 * 1024;  // of x with halo: 32 KB, in L1
constexpr int64_t kLongRun = 12;           // floats of a kernel row that are worth a list
constexpr int64_t kWinnerChunks = 12;
constexpr int kMostVectors = Lanes::kLanes == 16 ? 24 : 12;  // of sums in registers

// V vectors of each of R kernel rows, `pitch` apart in x, for all winners of a list.
template <int R, int V, class Winner>
TENON_INLINE void add_rows(const float* x, int64_t pitch, const Winner* winners, int64_t count, float* sums,
                           int64_t padded) {
  using Vector = Lanes::Vector;
  constexpr int kLanes = Lanes::kLanes;
  Vector acc[R][V];
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) acc[r][v] = Lanes::load(sums + r * padded + v * kLanes);
  for (int64_t i = 0; i < count; ++i) {
    const float* const from = x + winners[i].at;
    const Vector dy = Lanes::splat(winners[i].dy);
#pragma GCC unroll 5
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 24
      for (int v = 0; v < V; ++v) acc[r][v] += dy * Lanes::load(from + r * pitch + v * kLanes);
  }
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) Lanes::store(sums + r * padded + v * kLanes, acc[r][v]);
}

// The same for a number of vectors that is known when it runs.
template <int R, int V, class Winner>
__attribute__((noinline)) void add_some(int64_t vectors, const float* x, int64_t pitch, const Winner* winners,
                                        int64_t count, float* sums, int64_t padded) {
  if constexpr (V > 0) {
    if (vectors == V) return add_rows<R, V>(x, pitch, winners, count, sums, padded);
    add_some<R, V - 1>(vectors, x, pitch, winners, count, sums, padded);
  }
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
  const auto height = [&](int64_t rows) { return (2 * rows - 1) * s_.stride[1] + s_.k[1]; };
  const int64_t all = s_.y[1] / 2;
  rows_ = 1;
  while (rows_ < all && height(rows_ + 1) * width_ * s_.c <= kNearFloats) ++rows_;
  blocks_ = ceil_div(all, rows_);
  rows_ = ceil_div(all, blocks_);
  height_ = height(rows_);
  windows_ = rows_ * (s_.y[2] / 2);
  source_ = round_up(height_ * width_ * s_.c + padded_, 16);  // vectors reach past the last run
  units_ = s_.batch * blocks_;
  chunks_ = std::min(units_, kWinnerChunks);
}

void WinnerFilterGrad::run(const Call& call, const float* x, const float* dp, const uint8_t* winner, float* dw) const {
  float* const room = static_cast<float*>(call.thread_scratch);
  const Data data{x, dp, winner, room, reinterpret_cast<Winner*>(room + source_)};
  const Slice part = call.share(chunks_);
  for (int64_t i = part.begin; i < part.end; ++i)
    chunk(units_ * i / chunks_, units_ * (i + 1) / chunks_, data, static_cast<float*>(call.scratch) + i * size_);
  call.barrier();
  add_up(call, dw);
}

void WinnerFilterGrad::chunk(int64_t first_unit, int64_t last_unit, const Data& data, float* sums) const {
  std::fill(sums, sums + size_, 0.0f);
  std::fill(data.source + height_ * width_ * s_.c, data.source + source_, 0.0f);
  auto* const counts = reinterpret_cast<int32_t*>(data.lists + s_.o * windows_);  // where there are lists
  for (int64_t u = first_unit; u < last_unit; ++u) {
    const int64_t rows = copy_source(data, u);
    if (!lists_) {
      add_places(data, u, rows, sums);
      continue;
    }
    list(data, u, rows, counts);
    add(data, counts, sums);
  }
}

// The rows of windows of the unit, whose x it copies.
int64_t WinnerFilterGrad::copy_source(const Data& data, int64_t unit) const {
  const int64_t image = unit / blocks_, row = unit % blocks_ * rows_;
  const Point size{{1, s_.x[1], s_.x[2]}}, extent{{1, height_, width_}};
  const Point first{{0, 2 * row * s_.stride[1] - s_.low[1], -s_.low[2]}};
  copy_halo(data.x + image * s_.x_points() * s_.c, size, s_.c, first, extent, s_.c, data.source);
  return std::min(rows_, s_.y[1] / 2 - row);
}

int64_t WinnerFilterGrad::first_window(int64_t unit) const {
  return (unit / blocks_ * (s_.y[1] / 2) + unit % blocks_ * rows_) * (s_.y[2] / 2);
}

// Every element is written and counts where it is not 0: no branch to guess wrong.
void WinnerFilterGrad::list(const Data& data, int64_t unit, int64_t rows, int32_t* counts) const {
  const int64_t across = s_.y[2] / 2, first = first_window(unit) * s_.o;
  const int64_t down = s_.stride[1] * width_ * s_.c, right = s_.stride[2] * s_.c;
  const int32_t places[4] = {0, static_cast<int32_t>(right), static_cast<int32_t>(down),
                             static_cast<int32_t>(down + right)};
  std::fill(counts, counts + s_.o, 0);
  for (int64_t w = 0; w < rows * across; ++w) {
    const auto at = static_cast<int32_t>(w / across * 2 * down + w % across * 2 * right);
    const float* const dp = data.dp + first + w * s_.o;
    const uint8_t* const winner = data.winner + first + w * s_.o;
    Winner* to = data.lists;
    for (int64_t o = 0; o < s_.o; ++o, to += windows_) {
      to[counts[o]] = {at + places[winner[o] & 3], dp[o]};
      counts[o] += dp[o] != 0;
    }
  }
}

void WinnerFilterGrad::add(const Data& data, const int32_t* counts, float* sums) const {
  constexpr int64_t kLanes = Lanes::kLanes;
  const int64_t vectors = ceil_div(run_, kLanes), pitch = width_ * s_.c;
  for (int64_t o = 0; o < s_.o; ++o) {
    const Winner* const winners = data.lists + o * windows_;
    float* const to = sums + o * s_.k[1] * padded_;
    int64_t r = 0;
    if (vectors * 5 <= kMostVectors)
      for (; r + 5 <= s_.k[1]; r += 5)
        add_some<5, kMostVectors / 5>(vectors, data.source + r * pitch, pitch, winners, counts[o], to + r * padded_,
                                      padded_);
    if (vectors * 3 <= kMostVectors)
      for (; r + 3 <= s_.k[1]; r += 3)
        add_some<3, kMostVectors / 3>(vectors, data.source + r * pitch, pitch, winners, counts[o], to + r * padded_,
                                      padded_);
    for (; r < s_.k[1]; ++r)
      for (int64_t v = 0; v < vectors; v += kMostVectors)
        add_some<1, kMostVectors>(std::min<int64_t>(vectors - v, kMostVectors), data.source + r * pitch + v * kLanes,
                                  pitch, winners, counts[o], to + r * padded_ + v * kLanes, padded_);
  }
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
