#include "kernels/conv/winograd/conv_winograd5.h"

#include "kernels/conv/direct/conv_planar_step.h"
#include "kernels/conv/gather/gather_plan.h"
#include "kernels/conv/pooled/conv_planar_pool.h"
#include "kernels/conv/winograd/conv_winograd_rules.h"
#include "kernels/element/activation.h"
#include "kernels/movement/transpose.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int kSide = 6;                             // points of a tile each way
constexpr int kSquare = kSide * kSide;               // 36
constexpr int kTaps = 5;                             // of a filter each way
constexpr int64_t kStrip = 32;                       // tiles that are multiplied together
constexpr int kLane = Lanes::kLanes;                 // of which as many lie in a vector
constexpr int kPair = 2;                             // and are summed in so many
constexpr int kMostTogether = kLane == 16 ? 12 : 6;  // filters: their sums fill the registers
constexpr int64_t kSourceRoom = 64 * 1024;           // floats of the source: 256 KB, in L2
constexpr int64_t kFilterRoom = 1024 * 1024;         // floats of transformed filters: 4 MB
constexpr int64_t kFewUnits = 8;                     // enough pieces of work for a few threads
constexpr int64_t kFewResults = 12;
constexpr int64_t kLeastTiles = 384;  // of all images

// The products of F filters and kPair vectors of tiles at one of a tile's 36 points.
template <int F>
TENON_INLINE void multiply(const float* image, const float* w, int64_t depth, float* to) {
  using Vector = Lanes::Vector;
  Vector acc[F][kPair] = {};
  for (int64_t c = 0; c < depth; ++c, image += kStrip, w += F) add_products(image, w, acc);
#pragma GCC unroll 12
  for (int f = 0; f < F; ++f)
#pragma GCC unroll 2
    for (int v = 0; v < kPair; ++v) Lanes::store(to + f * kStrip + v * kLane, acc[f][v]);
}

template <int F>
__attribute__((noinline)) void multiply_strip(const float* images, const float* filters, int64_t depth, float* sums) {
  for (int f = 0; f < kSquare; ++f, images += depth * kStrip, filters += depth * F, sums += F * kStrip)
    for (int64_t v = 0; v < kStrip; v += kPair * kLane) multiply<F>(images + v, filters, depth, sums + v);
}

// The same for a number of filters that is known when it runs.
template <int F>
void multiply_some(int64_t group, const float* images, const float* filters, int64_t depth, float* sums) {
  if constexpr (F > 0) {
    if (group == F) return multiply_strip<F>(images, filters, depth, sums);
    multiply_some<F - 1>(group, images, filters, depth, sums);
  }
}

// How many strips an image has in blocks of `rows` tile rows.
int64_t strips_of(const GatherPlan& p, int64_t rows) {
  return ceil_div(ceil_div(p.to[1], 2), rows) * ceil_div(rows * (ceil_div(p.to[2], 2) + 2), kStrip);
}

// Whether blocks of `rows` tile rows are full enough to be worth their transforms: 3 in 5 of the tiles that are multiplied
// must lie in the image. With few results the source's transform is much of the work, and it must be 9 in 10.
bool fills_strips(const GatherPlan& p, int64_t rows) {
  const int64_t tiles = ceil_div(p.to[1], 2) * ceil_div(p.to[2], 2);
  return 10 * tiles >= (p.to_c < kFewResults ? 9 : 6) * strips_of(p, rows) * kStrip;
}

// Tile rows of a block: about as many as there is room for, but fewer where threads would lack pieces of work.
int64_t block_rows(const GatherPlan& p) {
  const int64_t down = ceil_div(p.to[1], 2), pitch = ceil_div(p.to[2], 2) + 2;
  int64_t most = std::clamp<int64_t>(kSourceRoom / (4 * p.from_c * pitch) - 2, 1, down);
  while (p.batch * ceil_div(down, most) < kFewUnits && most > 1 && fills_strips(p, ceil_div(most, 2)))
    most = ceil_div(most, 2);
  int64_t best = most;
  for (int64_t rows = most; 2 * rows > most; --rows)
    if (strips_of(p, rows) < strips_of(p, best)) best = rows;
  return best;
}

// With many more source channels than results, the source's transform would be most of the work; with few tiles, the
// filters' would be.
bool worth_transforms(const GatherPlan& p) {
  const bool enough = p.to_c < kFewResults ? p.to_c >= 10 && p.from_c <= 2 * p.to_c : p.from_c <= 4 * p.to_c;
  return enough && p.from_c >= 8 && std::max(p.from_c, p.to_c) >= 16 &&
         p.batch * ceil_div(p.to[1], 2) * ceil_div(p.to[2], 2) >= kLeastTiles && fills_strips(p, block_rows(p));
}

}  // namespace

bool Winograd5::suits(const GatherPlan& p) {
  if (!is_dense_plane(p) || !is_clip(p.act)) return false;
  const GatherPhase& g = p.phases[0];
  for (int d = 1; d < 3; ++d)
    if (g.taps[d] != kTaps || g.first[d] > 0 || g.first[d] <= -kTaps) return false;
  return kSquare * p.from_c * round_up(p.to_c, 12) <= kFilterRoom && p.from_c * (p.to[2] + 6) * 6 <= kSourceRoom &&
         worth_transforms(p);
}

Winograd5::Winograd5(GatherPlan plan) : p_(std::move(plan)) {
  for (int d = 0; d < 2; ++d) low_[d] = -p_.phases[0].first[d + 1];
  group_ = filters_together(p_.to_c, kMostTogether);
  groups_ = ceil_div(p_.to_c, group_);
  filters_ = kSquare * p_.from_c * groups_ * group_;
  down_ = ceil_div(p_.to[1], 2);
  across_ = ceil_div(p_.to[2], 2);
  pitch_ = across_ + 2;
  rows_ = block_rows(p_);
  blocks_ = ceil_div(down_, rows_);
  phase_ = (rows_ + 2) * pitch_;
  flat_ = round_up(rows_ * pitch_, kStrip);
  source_ = round_up(4 * p_.from_c * phase_ + flat_ - rows_ * pitch_ + 2, 16);  // a strip's last tiles may be none
  images_ = kSquare * p_.from_c * kStrip;
  sums_ = kSquare * group_ * kStrip;
  results_ = (p_.pooled_to ? 2 : 4) * groups_ * group_ * flat_;
  if (p_.pooled_from) {
    windows_ = p_.from[2] / 2;
    half_ = round_up(windows_, kLane);
    windows_room_ = p_.from_c * (2 * half_ + windows_) + 16;
  }
  if (p_.pooled_to) windows_room_ = p_.to_c * across_ + 16;
}

// [group][36][c][filter].
void Winograd5::transform_filters(const Call& call, const float* weights) const {
  const Slice part = call.share(groups_ * p_.from_c);
  for (int64_t i = part.begin; i < part.end; ++i) {
    const int64_t group = i / p_.from_c, c = i % p_.from_c, depth = p_.from_c * group_;
    float taps[kTaps * kTaps][kLane] = {};
    for (int64_t t = 0; t < kTaps * kTaps; ++t) {
      for (int64_t f = 0, o = group * group_; f < group_ && o < p_.to_c; ++f, ++o)
        taps[t][f] = weights[weight_at(p_, p_.phases[0], t, c, o)];
    }
    float* const to = static_cast<float*>(call.scratch) + group * kSquare * depth + c * group_;
    square<Lanes, Filter5Rule>(
        [&](int a, int b) __attribute__((always_inline)) { return Lanes::load(taps[a * kTaps + b]); },
        [&](int a, int b, Lanes::Vector v)
            __attribute__((always_inline)) { Lanes::store_part(to + (a * kSide + b) * depth, v, group_); });
  }
  call.barrier();
}

// Copies every row of the block's source into one of its four images. What lies beside the source on the left and the
// right is 0 from the start.
void Winograd5::fill_source(const ConvData& d, const Block& block, const Room& room) const {
  int64_t held = -1;  // the row of windows that lies in room.pooled
  for (int64_t i = 0; i < 2 * (block.rows + 2); ++i) {
    const int64_t y = 2 * block.row + i - low_[0];
    for (int parity = 0; parity < 2; ++parity) {
      float* const to = room.source + (i % 2 * 2 + parity) * phase_ + i / 2 * pitch_;
      if (y < 0 || y >= p_.from[1]) {
        for (int64_t c = 0; c < p_.from_c; ++c) std::fill_n(to + 4 * c * phase_, pitch_, 0.0f);
      } else if (p_.pooled_from) {
        const int64_t at = (block.image * (p_.from[1] / 2) + y / 2) * windows_ * p_.from_c;
        if (held != y / 2)
          load_windows(d.from + at, d.winner + at, windows_, p_.from_c, half_,
                       reinterpret_cast<int32_t*>(room.pooled + 2 * p_.from_c * half_), room.pooled,
                       reinterpret_cast<int32_t*>(room.pooled + p_.from_c * half_));
        held = y / 2;
        unpool_row(room, static_cast<int>(y % 2), parity, to);
      } else {
        copy_row(d, block.image * p_.from[1] + y, parity, to);
      }
    }
  }
}

// Every second point of a row of the source.
void Winograd5::copy_row(const ConvData& d, int64_t row, int parity, float* to) const {
  const int64_t before = std::max<int64_t>(0, ceil_div(low_[1] - parity, 2)), x = 2 * before + parity - low_[1];
  const int64_t points = std::min(pitch_ - before, ceil_div(p_.from[2] - x, 2));
  if (points > 0)
    transpose(d.from + (row * p_.from[2] + x) * p_.from_c, points, p_.from_c, 2 * p_.from_c, to + before, 4 * phase_);
}

// The same for row `row` of the windows in room.pooled: keeps the winners of one place.
void Winograd5::unpool_row(const Room& room, int row, int parity, float* to) const {
  const int64_t column = (low_[1] + parity) % 2, before = (column + low_[1]) / 2;
  const int64_t points = std::min(pitch_ - before, windows_);
  const Lanes::Ints place = Lanes::Ints{} + static_cast<int32_t>(2 * row + column);
  const int32_t* const winner = reinterpret_cast<const int32_t*>(room.pooled + p_.from_c * half_);
  for (int64_t c = 0; c < p_.from_c; ++c)
    for (int64_t i = 0; i < points; i += kLane) {
      const auto mine = load_as<Lanes::Ints>(winner + c * half_ + i) == place;
      const auto kept = (Lanes::Vector)((Lanes::Ints)Lanes::load(room.pooled + c * half_ + i) & mine);
      Lanes::store_part(to + 4 * c * phase_ + before + i, kept, std::min<int64_t>(kLane, points - i));
    }
}

// Tiles [at, at + kStrip) of the block: transformed, multiplied, transformed back.
void Winograd5::strip(const ConvData& d, const float* filters, int64_t at, const Room& room) const {
  const int64_t depth = p_.from_c;
  for (int64_t c = 0; c < depth; ++c)
    for (int64_t v = 0; v < kStrip; v += kLane) {
      const float* const from = room.source + 4 * c * phase_ + at + v;
      float* const to = room.images + c * kStrip + v;
      square<Lanes, ImageRule>(
          [&](int i, int j) __attribute__((always_inline)) {
            return Lanes::load(from + (i % 2 * 2 + j % 2) * phase_ + i / 2 * pitch_ + j / 2);
          },
          [&](int i, int j, Lanes::Vector x)
              __attribute__((always_inline)) { Lanes::store(to + (i * kSide + j) * depth * kStrip, x); });
    }
  for (int64_t g = 0; g < groups_; ++g) {
    multiply_some<kMostTogether>(group_, room.images, filters + g * kSquare * depth * group_, depth, room.sums);
    restore(d, g, at, room);
  }
}

void Winograd5::restore(const ConvData& d, int64_t group, int64_t at, const Room& room) const {
  using Vector = Lanes::Vector;
  const Clip clip = Clip::of(p_.act);
  const int64_t plane = groups_ * group_ * flat_;
  for (int64_t f = 0; f < group_; ++f) {
    const int64_t o = group * group_ + f;
    const Vector bias = Lanes::splat(d.bias && o < p_.to_c ? d.bias[o] : 0);
    for (int64_t v = 0; v < kStrip; v += kLane) {
      const float* const from = room.sums + f * kStrip + v;
      float* const to = room.results + o * flat_ + at + v;
      Vector y[4];
      square<Lanes, Result5Rule>(
          [&](int i, int j)
              __attribute__((always_inline)) { return Lanes::load(from + (i * kSide + j) * group_ * kStrip); },
          [&](int i, int j, Vector x) __attribute__((always_inline)) { y[2 * i + j] = clip.apply<Lanes>(x + bias); });
      if (p_.pooled_to) {
        Lanes::Ints which;
        Lanes::store(to, largest<Lanes>(y, which));
        std::memcpy(to + plane, &which, sizeof which);
        continue;
      }
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) Lanes::store(to + i * plane, y[i]);
    }
  }
}

void Winograd5::write(const ConvData& d, const Block& block, const Room& room) const {
  const int64_t plane = groups_ * group_ * flat_;
  for (int64_t i = 0; i < block.rows; ++i) {
    const float* const from = room.results + i * pitch_;
    if (p_.pooled_to) {
      const int64_t at = (block.image * down_ + block.row + i) * across_ * p_.to_c;
      store_windows(from, reinterpret_cast<const int32_t*>(from + plane), across_, p_.to_c, flat_,
                    reinterpret_cast<int32_t*>(room.pooled), d.to + at, d.to_winner + at);
      continue;
    }
    for (int place = 0; place < 4; ++place) {
      const int64_t y = 2 * (block.row + i) + place / 2, x = place % 2, points = (p_.to[2] - x + 1) / 2;
      if (y < p_.to[1] && points > 0)
        transpose(from + place * plane, p_.to_c, points, flat_,
                  d.to + ((block.image * p_.to[1] + y) * p_.to[2] + x) * p_.to_c, 2 * p_.to_c);
    }
  }
}

void Winograd5::run(const Call& call, const ConvData& d) const {
  transform_filters(call, d.weights);
  Room room;
  room.source = static_cast<float*>(call.thread_scratch);
  room.images = room.source + source_;
  room.sums = room.images + images_;
  room.results = room.sums + sums_;
  room.pooled = room.results + results_;
  std::fill_n(room.source, source_, 0.0f);
  std::fill_n(room.pooled, windows_room_, 0.0f);
  const Slice part = call.share(p_.batch * blocks_);
  for (int64_t u = part.begin; u < part.end; ++u) {
    const int64_t row = u % blocks_ * rows_;
    const Block block{u / blocks_, row, std::min(rows_, down_ - row)};
    fill_source(d, block, room);
    for (int64_t at = 0; at < block.rows * pitch_; at += kStrip)
      strip(d, static_cast<const float*>(call.scratch), at, room);
    write(d, block, room);
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
