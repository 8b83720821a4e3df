#include "kernels/conv_planar.h"

#include "kernels/conv_pool.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int kWide = Lanes::kLanes;
constexpr int kVectors = 2;                         // of points, summed together
constexpr int kMostFilters = kWide == 16 ? 12 : 6;  // of as many: sums fill the registers
constexpr int64_t kPlaneFloats = 32 * 1024;         // of the source: 128 KB, in L2
constexpr int64_t kFewChannels = 48;

// Results of F filters at kVectors vectors of points of a row.
struct Cell {
  const float* x;  // the first tap of the first point
  const float* w;  // [taps][c][F]
  const float* bias;
  float* to;  // [F] rows, `width` apart
  int64_t width, channels, plane, pitch, rows, columns;
  bool relu;
};

template <int F>
TENON_INLINE void sum(const Cell& c) {
  using Vector = Lanes::Vector;
  Vector acc[F][kVectors];
#pragma GCC unroll 12
  for (int f = 0; f < F; ++f)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) acc[f][v] = c.bias ? Lanes::splat(c.bias[f]) : Vector{};
  const float* w = c.w;
  for (int64_t i = 0; i < c.rows; ++i)
    for (int64_t j = 0; j < c.columns; ++j) {
      const float* x = c.x + i * c.pitch + j;
      for (int64_t k = 0; k < c.channels; ++k, x += c.plane, w += F) {
        Vector from[kVectors];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) from[v] = Lanes::load(x + v * kWide);
#pragma GCC unroll 12
        for (int f = 0; f < F; ++f) {
          const Vector weight = Lanes::splat(w[f]);
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) acc[f][v] += weight * from[v];
        }
      }
    }
  const Vector floor = Lanes::splat(c.relu ? 0 : -__builtin_inff());
#pragma GCC unroll 12
  for (int f = 0; f < F; ++f)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) Lanes::store(c.to + f * c.width + v * kWide, Lanes::max(floor, acc[f][v]));
}

// A row of `points`.
template <int F>
__attribute__((noinline)) void sum_row(Cell c, int64_t points) {
  for (int64_t i = 0; i < points; i += kVectors * kWide, c.x += kVectors * kWide, c.to += kVectors * kWide) sum<F>(c);
}

// The same for a number of filters that is known when it runs.
template <int F>
void sum_some(int64_t filters, const Cell& c, int64_t points) {
  if constexpr (F > 0) {
    if (filters == F) return sum_row<F>(c, points);
    sum_some<F - 1>(filters, c, points);
  }
}

// As many together as registers hold, or a few less where fewer are left over.
int64_t filters_together(int64_t n) {
  int64_t best = std::min<int64_t>(n, kMostFilters);
  for (int64_t f = best; f >= kMostFilters - 2 && f > 0; --f)
    if (round_up(n, f) < round_up(n, best)) best = f;
  return best;
}

}  // namespace

bool Planar::suits(const GatherPlan& p) {
  if (p.phases.size() != 1 || p.groups != 1 || p.act > TENON_ACT_RELU || p.to_c > kFewChannels) return false;
  const GatherPhase& g = p.phases[0];
  for (int d = 0; d < 3; ++d)
    if (p.from_step[d] != 1 || p.to_step[d] != 1 || g.step[d] != 1) return false;
  const bool flat = p.from[0] == 1 && p.to[0] == 1 && p.kernel[0] == 1;
  const int64_t points = round_up(p.to[2], kVectors * kWide), channels = round_up(p.to_c, kWide);
  const bool fuller = p.to[2] * channels * 5 > points * p.to_c * 6;
  return flat && g.taps.product() > 1 && p.batch * p.to.product() * p.to_c >= 16384 && fuller;
}

Planar::Planar(GatherPlan plan) : p_(std::move(plan)), g_(p_.phases[0]) {
  filters_ = filters_together(p_.to_c);
  groups_ = ceil_div(p_.to_c, filters_);
  depth_ = g_.taps.product() * p_.from_c;
  weights_ = groups_ * filters_ * (depth_ + 1);  // and the bias
  choose_blocks();
}

void Planar::choose_blocks() {
  width_ = round_up(p_.to[2], kVectors * kWide);
  pitch_ = width_ + round_up(g_.taps[2] - 1, 16);
  const int64_t unit = p_.pooled_to ? 2 : 1, most = kPlaneFloats / (p_.from_c * pitch_) - (g_.taps[1] - 1);
  rows_ = std::clamp<int64_t>(most, unit, p_.to[1]);
  rows_ = round_up(ceil_div(p_.to[1], ceil_div(p_.to[1], rows_)), unit);
  while (p_.batch * ceil_div(p_.to[1], rows_) < 8 && rows_ > unit) rows_ = round_up(rows_ / 2, unit);
  blocks_ = ceil_div(p_.to[1], rows_);
  height_ = rows_ + g_.taps[1] - 1;
  source_ = p_.from_c * height_ * pitch_ + 16;
  line_ = round_up((p_.to[2] + g_.taps[2] - 1) * p_.from_c, 16);
  planes_ = groups_ * filters_ * width_;
  map_ = p_.pooled_to ? 2 * p_.to[2] * p_.to_c : 0;
}

// [group][tap][c][filter], in the order in which a result sums them.
void Planar::pack(const Call& call, const float* weights) const {
  float* const packed = static_cast<float*>(call.scratch);
  const Slice part = call.share(groups_ * depth_);
  for (int64_t i = part.begin; i < part.end; ++i) {
    const int64_t group = i / depth_, tap = i % depth_ / p_.from_c, c = i % p_.from_c;
    const int64_t row = g_.tap_first[1] + tap / g_.taps[2] * g_.tap_step[1];
    const int64_t column = g_.tap_first[2] + tap % g_.taps[2] * g_.tap_step[2];
    const int64_t at = row * p_.kernel[2] + column;
    for (int64_t f = 0; f < filters_; ++f) {
      const int64_t o = group * filters_ + f;
      const int64_t from = p_.transposed ? (at * p_.to_c + o) * p_.from_c + c : (at * p_.from_c + c) * p_.to_c + o;
      packed[i * filters_ + f] = o < p_.to_c ? weights[from] : 0;
    }
  }
  call.barrier();
}

// Rows [row, row + rows) of the source with the halo of the result rows that start there.
void Planar::fill_source(const GatherData& d, int64_t image, int64_t row, int64_t rows, const Room& room) const {
  const Point extent{{1, 1, p_.to[2] + g_.taps[2] - 1}};
  const int64_t at = image * (p_.pooled_from ? pooled_size(p_.from) : p_.from).product() * p_.from_c;
  for (int64_t i = 0; i < rows; ++i) {
    const Point first{{0, row + g_.first[1] + i, g_.first[2]}};
    if (p_.pooled_from)
      unpool_halo(d.from + at, d.from_winner + at, p_.from, p_.from_c, first, extent, p_.from_c, room.line);
    else
      copy_halo(d.from + at, p_.from, p_.from_c, first, extent, p_.from_c, room.line);
    transpose(room.line, extent[2], p_.from_c, p_.from_c, room.source + i * pitch_, height_ * pitch_);
  }
}

// A row of the result, whose first tap is in row `at` of the copied source.
void Planar::row(const GatherData& d, const float* weights, int64_t at, const Room& room, float* to) const {
  Cell c;
  c.x = room.source + at * pitch_;
  c.width = width_;
  c.channels = p_.from_c;
  c.plane = height_ * pitch_;
  c.pitch = pitch_;
  c.rows = g_.taps[1];
  c.columns = g_.taps[2];
  c.relu = p_.act == TENON_ACT_RELU;
  for (int64_t g = 0; g < groups_; ++g) {
    c.w = weights + g * depth_ * filters_;
    c.bias = d.bias ? weights + (groups_ * depth_ + g) * filters_ : nullptr;
    c.to = room.planes + g * filters_ * width_;
    sum_some<kMostFilters>(filters_, c, p_.to[2]);
  }
  transpose(room.planes, p_.to_c, p_.to[2], width_, to, p_.to_c);
}

void Planar::run(const Call& call, const GatherData& d) const {
  float* const packed = static_cast<float*>(call.scratch);
  if (call.index == 0 && d.bias)
    for (int64_t o = 0; o < groups_ * filters_; ++o)
      packed[groups_ * depth_ * filters_ + o] = o < p_.to_c ? d.bias[o] : 0;
  pack(call, d.weights);
  float* const base = static_cast<float*>(call.thread_scratch);
  const Room room{base, base + source_, base + source_ + line_, base + source_ + line_ + planes_};
  std::fill(room.source, room.source + source_, 0.0f);  // what is read past a row's end
  const int64_t row_floats = p_.to[2] * p_.to_c;
  const Slice part = call.share(p_.batch * blocks_);
  for (int64_t u = part.begin; u < part.end; ++u) {
    const int64_t image = u / blocks_, first = u % blocks_ * rows_, rows = std::min(rows_, p_.to[1] - first);
    fill_source(d, image, first, rows + g_.taps[1] - 1, room);
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t to = image * p_.to[1] + first + i;
      row(d, packed, i, room, p_.pooled_to ? room.map + i % 2 * row_floats : d.to + to * row_floats);
      if (!p_.pooled_to || i % 2 == 0) continue;
      const int64_t at = to / 2 * (p_.to[2] / 2) * p_.to_c;
      pool_rows(room.map, p_.to[2], p_.to[2], p_.to_c, 0, p_.to_c, d.to + at, d.to_winner + at);
    }
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
