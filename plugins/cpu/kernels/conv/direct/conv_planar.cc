#include "kernels/conv/direct/conv_planar.h"

#include "kernels/conv/direct/conv_planar_step.h"
#include "kernels/conv/gather/gather_plan.h"
#include "kernels/conv/pooled/conv_planar_pool.h"
#include "kernels/conv/pooled/conv_pool.h"
#include "kernels/element/activation.h"
#include "kernels/movement/transpose.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int kWide = Lanes::kLanes;
constexpr int kVectors = 2;                         // of points, summed together
constexpr int kMostFilters = kWide == 16 ? 12 : 6;  // of as many: sums fill the registers
constexpr int64_t kPlaneFloats = 64 * 1024;         // of the source: 256 KB, in L2
constexpr int64_t kFewChannels = 48;

// Results of F filters at some vectors of points of a row.
struct Cell {
  const float* x;  // the first tap of the first point
  const float* w;  // [taps][c][F]
  const float* bias;
  float* to;  // [F] rows, `width` apart
  int64_t width, channels, plane, pitch, rows, columns;
  Clip clip;
};

// A function of its own: within another the compiler keeps the points' vectors on the stack, and reads them for each filter.
template <int F, int V>
__attribute__((noinline)) void sum(const Cell& c) {
  using Vector = Lanes::Vector;
  Vector acc[F][V];
#pragma GCC unroll 12
  for (int f = 0; f < F; ++f)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) acc[f][v] = c.bias ? Lanes::splat(c.bias[f]) : Vector{};
  const float* w = c.w;
  for (int64_t i = 0; i < c.rows; ++i)
    for (int64_t j = 0; j < c.columns; ++j) {
      const float* x = c.x + i * c.pitch + j;
      for (int64_t k = 0; k < c.channels; ++k, x += c.plane, w += F) add_products(x, w, acc);
    }
#pragma GCC unroll 12
  for (int f = 0; f < F; ++f)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) Lanes::store(c.to + f * c.width + v * kWide, c.clip.apply<Lanes>(acc[f][v]));
}

// A row of `points`.
template <int F>
__attribute__((noinline)) void sum_row(Cell c, int64_t points) {
  for (; points > kWide; points -= kVectors * kWide, c.x += kVectors * kWide, c.to += kVectors * kWide)
    sum<F, kVectors>(c);
  if (points > 0) sum<F, 1>(c);
}

// The same for a number of filters that is known when it runs.
template <int F>
void sum_some(int64_t filters, const Cell& c, int64_t points) {
  if constexpr (F > 0) {
    if (filters == F) return sum_row<F>(c, points);
    sum_some<F - 1>(filters, c, points);
  }
}

}  // namespace

bool Planar::suits(const GatherPlan& p) { return suits(p, kWide); }

bool Planar::suits_somewhere(const GatherPlan& p) { return suits(p, 8) || suits(p, 16); }

bool Planar::suits(const GatherPlan& p, int64_t lanes) {
  if (!is_dense_plane(p) || p.to_c > kFewChannels) return false;
  const GatherPhase& g = p.phases[0];
  if (p.pooled_from && g.first[2] > 0) return false;  // a row is unpooled from its first point on
  const int64_t points = round_up(p.to[2], kVectors * lanes), channels = round_up(p.to_c, lanes);
  const bool fuller = p.to[2] * channels * 5 > points * p.to_c * 6;
  return g.taps.product() > 1 && p.batch * p.to.product() * p.to_c >= 16384 && fuller;
}

Planar::Planar(GatherPlan plan) : p_(std::move(plan)), g_(p_.phases[0]) {
  filters_ = filters_together(p_.to_c, kMostFilters);
  groups_ = ceil_div(p_.to_c, filters_);
  depth_ = g_.taps.product() * p_.from_c;
  weights_ = groups_ * filters_ * (depth_ + 1);  // and the bias
  choose_blocks();
}

void Planar::choose_blocks() {
  width_ = round_up(p_.to[2], kVectors * kWide);
  pitch_ = width_ + round_up(g_.taps[2] - 1, 16);
  left_ = std::clamp<int64_t>(-g_.first[2], 0, p_.to[2] + g_.taps[2] - 1);
  if (p_.pooled_from) {
    windows_ = p_.from[2] / 2;
    half_ = round_up(windows_, kWide);
    pitch_ = std::max(pitch_, round_up(left_ + 2 * half_, 16));
  }
  if (p_.pooled_to) {
    windows_ = p_.to[2] / 2;
    half_ = width_ / 2;
  }
  const int64_t unit = p_.pooled_to ? 2 : 1, most = kPlaneFloats / (p_.from_c * pitch_) - (g_.taps[1] - 1);
  rows_ = std::clamp<int64_t>(most, unit, p_.to[1]);
  rows_ = round_up(ceil_div(p_.to[1], ceil_div(p_.to[1], rows_)), unit);
  while (p_.batch * ceil_div(p_.to[1], rows_) < 8 && rows_ > unit) rows_ = round_up(rows_ / 2, unit);
  blocks_ = ceil_div(p_.to[1], rows_);
  height_ = rows_ + g_.taps[1] - 1;
  source_ = p_.from_c * height_ * pitch_ + 16;
  planes_ = groups_ * filters_ * width_;
  const int64_t pooled_c = p_.pooled_from ? p_.from_c : p_.pooled_to ? p_.to_c : 0;
  pooled_ = pooled_c * half_;
  line_ = round_up(pooled_c * windows_, 16);
}

// [group][tap][c][filter], in the order in which a result sums them.
void Planar::pack(const Call& call, const float* weights) const {
  float* const packed = static_cast<float*>(call.scratch);
  const Slice part = call.share(groups_ * depth_);
  for (int64_t i = part.begin; i < part.end; ++i) {
    const int64_t group = i / depth_, tap = i % depth_ / p_.from_c, c = i % p_.from_c;
    for (int64_t f = 0; f < filters_; ++f) {
      const int64_t o = group * filters_ + f;
      packed[i * filters_ + f] = o < p_.to_c ? weights[weight_at(p_, g_, tap, c, o)] : 0;
    }
  }
  call.barrier();
}

// Copies rows [row, row + rows) of the source with the halo that the result rows from there on need. What lies beside the
// image on the left and the right is 0 from the start.
void Planar::fill_source(const ConvData& d, int64_t image, int64_t row, int64_t rows, const Room& room) const {
  const int64_t skipped = std::max<int64_t>(0, g_.first[2]), extent = p_.to[2] + g_.taps[2] - 1;
  const int64_t points = std::clamp<int64_t>(p_.from[2] - skipped, 0, extent - left_);
  int64_t held = -1;  // the row of windows that lies in room.pooled
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t y = row + g_.first[1] + i;
    float* const to = room.source + i * pitch_;
    if (y < 0 || y >= p_.from[1]) {
      for (int64_t c = 0; c < p_.from_c; ++c) std::fill_n(to + c * height_ * pitch_, pitch_, 0.0f);
    } else if (p_.pooled_from) {
      const int64_t at = (image * (p_.from[1] / 2) + y / 2) * windows_ * p_.from_c;
      if (held != y / 2)
        load_windows(d.from + at, d.winner + at, windows_, p_.from_c, half_, room.line, room.pooled, room.winner);
      held = y / 2;
      for (int64_t c = 0; c < p_.from_c; ++c)
        unpool_plane(room.pooled + c * half_, room.winner + c * half_, windows_, y % 2,
                     to + c * height_ * pitch_ + left_);
    } else {
      transpose(d.from + ((image * p_.from[1] + y) * p_.from[2] + skipped) * p_.from_c, points, p_.from_c, p_.from_c,
                to + left_, height_ * pitch_);
    }
  }
}

// A row of the result, whose first tap is in row `at` of the copied source, as planes.
void Planar::row(const ConvData& d, const float* weights, int64_t at, const Room& room, float* planes) const {
  Cell c;
  c.x = room.source + at * pitch_;
  c.width = width_;
  c.channels = p_.from_c;
  c.plane = height_ * pitch_;
  c.pitch = pitch_;
  c.rows = g_.taps[1];
  c.columns = g_.taps[2];
  c.clip = Clip::of(p_.act);
  for (int64_t g = 0; g < groups_; ++g) {
    c.w = weights + g * depth_ * filters_;
    c.bias = d.bias ? weights + (groups_ * depth_ + g) * filters_ : nullptr;
    c.to = planes + g * filters_ * width_;
    sum_some<kMostFilters>(filters_, c, p_.to[2]);
  }
  if (is_clip(p_.act)) return;
  const ActLoop act = act_loop(p_.act);
  for (int64_t o = 0; o < p_.to_c; ++o) act(planes + o * width_, planes + o * width_, p_.to[2], p_.alpha);
}

// Pools two rows of planes to a row of windows.
void Planar::pool(const ConvData& d, int64_t row, const Room& room) const {
  const int64_t n = windows_ * p_.to_c;
  for (int64_t c = 0; c < p_.to_c; ++c)
    pool_plane(room.planes + c * width_, room.planes + planes_ + c * width_, windows_, room.pooled + c * half_,
               room.winner + c * half_);
  store_windows(room.pooled, room.winner, windows_, p_.to_c, half_, room.line, d.to + row * n, d.to_winner + row * n);
}

void Planar::run(const Call& call, const ConvData& d) const {
  float* const packed = static_cast<float*>(call.scratch);
  if (call.index == 0 && d.bias)
    for (int64_t o = 0; o < groups_ * filters_; ++o)
      packed[groups_ * depth_ * filters_ + o] = o < p_.to_c ? d.bias[o] : 0;
  pack(call, d.weights);
  Room room;
  room.source = static_cast<float*>(call.thread_scratch);
  room.planes = room.source + source_;
  room.pooled = room.planes + (p_.pooled_to ? 2 : 1) * planes_;
  room.winner = reinterpret_cast<int32_t*>(room.pooled + pooled_);
  room.line = room.winner + pooled_;
  std::fill_n(room.source, source_, 0.0f);
  std::fill_n(room.pooled, pooled_, 0.0f);  // past the windows of a row, where the map is 0
  const Slice part = call.share(p_.batch * blocks_);
  for (int64_t u = part.begin; u < part.end; ++u) {
    const int64_t image = u / blocks_, first = u % blocks_ * rows_, rows = std::min(rows_, p_.to[1] - first);
    fill_source(d, image, first, rows + g_.taps[1] - 1, room);
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t to = image * p_.to[1] + first + i;
      row(d, packed, i, room, room.planes + (p_.pooled_to && i % 2 == 1 ? planes_ : 0));
      if (!p_.pooled_to)
        transpose(room.planes, p_.to_c, p_.to[2], width_, d.to + to * p_.to[2] * p_.to_c, p_.to_c);
      else if (i % 2 == 1)
        pool(d, to / 2, room);
    }
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
