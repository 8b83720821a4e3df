#include "kernels/conv/direct/depthwise_tile.h"

#include <algorithm>

#include "kernels/conv/direct/depthwise_channels.h"
#include "kernels/element/activation.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// What registers hold beside the values that are read.
#if defined(__AVX512F__)
constexpr int kDepthwisePoints = 6, kDepthwiseVectors = 4;
#elif defined(__AVX2__)
constexpr int kDepthwisePoints = 5, kDepthwiseVectors = 4;
#else
constexpr int kDepthwisePoints = 2, kDepthwiseVectors = 1;
#endif
constexpr int kFewDepthwisePoints = (kDepthwisePoints + 1) / 2;

// Where a tile is.
struct DepthwisePlace {
  int64_t y, x, c;   // first point, first channel
  int64_t n;         // channels of a vector that is a part
  int64_t j, j_end;  // columns of taps that lie in the source
  // Rows of taps that do: those of the first row of points alone, of both, of the second alone, which are `shift` further on.
  int64_t i, first_end, both_end, i_end, shift;
};

// Sums of bf16 are activated before they are rounded. Not a function of the tile, whose sums would then be in memory.
__attribute__((noinline)) Lanes::Vector activated(Lanes::Vector sum, int act, float alpha) {
  float values[Lanes::kLanes];
  Lanes::store(values, sum);
  act_loop(act)(values, values, Lanes::kLanes, alpha);
  return Lanes::load(values);
}

// What a tile reads and writes, at its first channel.
template <class T>
struct DepthwiseOperands {
  const T* x;      // what its first point takes of the first tap that lies in the source
  const float* w;  // that tap
  T* to;
  int64_t c;  // the channel
};

// Columns of taps, and between points, where taps are neighbours. AnyColumns: as the phase says.
template <int J, int S>
struct DepthwiseColumns {
  static constexpr int kTaps = J, kStep = S;
};
using AnyColumns = DepthwiseColumns<0, 0>;

// R rows x P points x NV vectors of channels. Part: the vector is not whole.
template <class T, int R, int P, int NV, bool Part, class Columns = AnyColumns>
class DepthwiseTile {
  using V = Lanes::Vector;

 public:
  TENON_INLINE DepthwiseTile(const DepthwisePhase<T>& p, const DepthwisePlace& t)
      : first_(t.first_end - t.i),
        both_(t.both_end - t.first_end),
        second_(t.i_end - t.both_end),
        columns_(t.j_end - t.j),
        x_row_(p.tap_row * p.from_row),
        x_column_(p.tap_column * p.from_point),
        x_step_(p.column_step * p.from_point),
        w_row_(p.w_row),
        w_column_(p.w_column),
        w_second_(t.shift * p.w_row),
        to_row_(p.to_row),
        to_point_(p.to_point),
        x_next_((t.i_end - t.i) * p.tap_row * p.from_row),
        fetches_source_(p.fetches_source),
        fetches_result_(p.fetches_result),
        n_(t.n),
        clip_(Clip::of(p.act)),
        plain_(!p.norm.scale && !p.residual && is_clip(p.act)) {
    if (kWide && !is_clip(p.act)) activate_ = act_rows(p.act);
    for (int r = 0; r < R; ++r)
      for (int k = 0; k < P; ++k) rows_[r * P + k] = r * to_row_ + k * to_point_;
  }

  TENON_INLINE void run(const DepthwisePhase<T>& p, const DepthwiseOperands<T>& at) const {
    V acc[R][P][NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      const V b = p.bias ? channels_at<Part>(p.bias + at.c + v * Lanes::kLanes, n_) : V{};
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 6
        for (int k = 0; k < P; ++k) acc[r][k][v] = b;
    }
    if constexpr (P > 1 && !Part) fetch(at);
    const T* x = at.x;
    const float* w = at.w;
    for (int64_t i = 0; i < first_; ++i, x += x_row_, w += w_row_) tap_row<true, false>(x, w, acc);
    if constexpr (R > 1) {
      for (int64_t i = 0; i < both_; ++i, x += x_row_, w += w_row_) tap_row<true, true>(x, w, acc);
      for (int64_t i = 0; i < second_; ++i, x += x_row_, w += w_row_) tap_row<false, true>(x, w, acc);
    }
    if (plain_)
      return store(
          at.to, acc, [&](V sum, int64_t, int64_t) __attribute__((always_inline)) { return clip_.apply<Lanes>(sum); });
    const T* const residual = p.residual ? p.residual + (at.to - p.to) : nullptr;
    store(
        at.to, acc, [&](V sum, int64_t c, int64_t to) __attribute__((always_inline)) {
          if (p.norm.scale) {
            // Loaded first: a branch between product and sum would leave it to chance whether they are one instruction.
            const V mean = channels_at<Part>(p.norm.mean + at.c + c, n_),
                    scale = channels_at<Part>(p.norm.scale + at.c + c, n_),
                    shift = channels_at<Part>(p.norm.shift + at.c + c, n_);
            sum = (sum - mean) * scale + shift;
          }
          if (residual) sum += channels_at<Part>(residual + to, n_);
          sum = clip_.apply<Lanes>(sum);
          return kWide || is_clip(p.act) ? sum : activated(sum, p.act, p.alpha);
        });
    if constexpr (kWide)
      if (activate_) activate_(at.to, rows_, R * P, Part ? n_ : NV * Lanes::kLanes, p.alpha);
  }

 private:
  static constexpr bool kWide = std::is_same_v<T, float>;

  // What the next rows of points read, and where they are stored: processors foresee neither.
  TENON_INLINE void fetch(const DepthwiseOperands<T>& at) const {
    constexpr int S = Columns::kStep > 0 ? Columns::kStep : 1;
    if (fetches_source_)
#pragma GCC unroll 4
      for (int r = 0; r < R * S; ++r)
#pragma GCC unroll 12
        for (int k = 0; k < P * S; ++k) __builtin_prefetch(at.x + x_next_ + r * x_row_ + k * (x_step_ / S), 0, 2);
    if (!fetches_result_) return;
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 6
      for (int k = 0; k < P; ++k) __builtin_prefetch(at.to + (R + r) * to_row_ + k * to_point_, 1, 2);
  }

  template <bool First, bool Second>
  TENON_INLINE void tap_row(const T* x, const float* w, V (&acc)[R][P][NV]) const {
    if constexpr (Columns::kTaps > 0) return known_columns<First, Second>(x, w, acc);
    for (int64_t j = 0; j < columns_; ++j, x += x_column_, w += w_column_) {
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) {
        V first = {}, second = {};
        if constexpr (First) first = channels_at<Part>(w + v * Lanes::kLanes, n_);
        if constexpr (Second) second = channels_at<Part>(w - w_second_ + v * Lanes::kLanes, n_);
#pragma GCC unroll 6
        for (int k = 0; k < P; ++k) {
          const V value = channels_at<Part>(x + k * x_step_ + v * Lanes::kLanes, n_);
          if constexpr (First) acc[0][k][v] += value * first;
          if constexpr (Second) acc[R - 1][k][v] += value * second;
        }
      }
    }
  }

  // Each point of the source is read once.
  template <bool First, bool Second>
  TENON_INLINE void known_columns(const T* x, const float* w, V (&acc)[R][P][NV]) const {
    constexpr int J = Columns::kTaps, S = Columns::kStep;
    V first[J], second[J];
#pragma GCC unroll 8
    for (int j = 0; j < J; ++j) {
      if constexpr (First) first[j] = Lanes::load(w + j * w_column_);
      if constexpr (Second) second[j] = Lanes::load(w - w_second_ + j * w_column_);
    }
#pragma GCC unroll 20
    for (int q = 0; q < (P - 1) * S + J; ++q, x += x_column_) {
      const V value = load_stored(x);
#pragma GCC unroll 8
      for (int j = 0; j < J; ++j) {
        const int k = (q - j) / (S > 0 ? S : 1);
        if (q < j || k >= P || k * S + j != q) continue;
        if constexpr (First) acc[0][k][0] += value * first[j];
        if constexpr (Second) acc[R - 1][k][0] += value * second[j];
      }
    }
  }

  // What `end` makes of the sums.
  template <class End>
  TENON_INLINE void store(T* to, const V (&acc)[R][P][NV], End end) const {
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 6
      for (int k = 0; k < P; ++k)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
          const int64_t c = v * Lanes::kLanes, at = r * to_row_ + k * to_point_ + c;
          put_channels<Part>(to + at, end(acc[r][k][v], c, at), n_);
        }
  }

  const int64_t first_, both_, second_,
      columns_;  // rows of taps of the first row of points alone, of both, of the second
  const int64_t x_row_, x_column_, x_step_, w_row_, w_column_, w_second_, to_row_, to_point_;  // elements
  const int64_t x_next_;
  const bool fetches_source_, fetches_result_;
  const int64_t n_;
  const Clip clip_;
  const bool plain_;
  ActRows activate_ = nullptr;  // of a tile that is stored, where it is no clip
  int64_t rows_[R * P];
};

// P points and all channels.
template <class T, int R, int P, class Columns = AnyColumns>
__attribute__((noinline)) void depthwise_channels(const DepthwisePhase<T>& p, const DepthwisePlace& t, Slice channels) {
  constexpr int kVectors = P == 1 ? kDepthwiseVectors : 1;
  const int64_t row = t.y * p.row_step + p.first_row + t.i * p.tap_row;
  const int64_t column = t.x * p.column_step + p.first_column + t.j * p.tap_column;
  const DepthwiseOperands<T> first{p.from + row * p.from_row + column * p.from_point,
                                   p.w + t.i * p.w_row + t.j * p.w_column, p.to + t.y * p.to_row + t.x * p.to_point, 0};
  const auto at = [&](int64_t c) { return DepthwiseOperands<T>{first.x + c, first.w + c, first.to + c, c}; };
  int64_t c = channels.begin;
  const DepthwiseTile<T, R, P, kVectors, false, Columns> whole(p, t);
  for (; c + kVectors * Lanes::kLanes <= channels.end; c += kVectors * Lanes::kLanes) whole.run(p, at(c));
  if constexpr (kVectors > 1) {
    const DepthwiseTile<T, R, P, 1, false> one(p, t);
    for (; c + Lanes::kLanes <= channels.end; c += Lanes::kLanes) one.run(p, at(c));
  }
  if (c == channels.end) return;
  DepthwisePlace rest = t;
  rest.n = channels.end - c;
  DepthwiseTile<T, R, P, 1, true>(p, rest).run(p, at(c));
}

// Those of a row, at point x.
template <class T>
Slice columns_inside(const DepthwisePhase<T>& p, int64_t x) {
  return taps_inside(p.columns, x * p.column_step + p.first_column, p.tap_column, p.from_columns);
}

// Points of which all columns of taps lie in the source, P at a time. The last tile may compute points again.
template <class T, int R, int P>
void depthwise_inner(const DepthwisePhase<T>& p, DepthwisePlace t, int64_t x, Slice inner, Slice channels) {
  const auto each = [&]<class Columns>(Columns) {
    for (; x < inner.end; x += P) {
      t.x = std::min(x, inner.end - P);
      depthwise_channels<T, R, P, Columns>(p, t, channels);
    }
  };
  const int64_t s = p.tap_column == 1 && R > 1 ? p.column_step : 0;
  if constexpr (R > 1) {
    if (p.columns == 3 && s == 1) return each(DepthwiseColumns<3, 1>{});
    if (p.columns == 3 && s == 2) return each(DepthwiseColumns<3, 2>{});
    if (p.columns == 5 && s == 1) return each(DepthwiseColumns<5, 1>{});
    if (p.columns == 5 && s == 2) return each(DepthwiseColumns<5, 2>{});
    if (p.columns == 7 && s == 1) return each(DepthwiseColumns<7, 1>{});
  }
  each(AnyColumns{});
}

template <class T, int R>
void depthwise_points(const DepthwisePhase<T>& p, int64_t y, int64_t width, Slice inner, Slice channels) {
  DepthwisePlace t{y, 0, 0, Lanes::kLanes, 0, p.columns};
  t.shift = R > 1 ? p.row_step / p.tap_row : 0;
  const Slice rows = taps_inside(p.rows + t.shift, y * p.row_step + p.first_row, p.tap_row, p.from_rows);
  t.i = rows.begin, t.i_end = rows.end;
  t.first_end = std::clamp(R > 1 ? t.shift : p.rows, rows.begin, rows.end);
  t.both_end = std::clamp(p.rows, t.first_end, rows.end);
  const auto alone = [&](int64_t x, int64_t end) {
    for (; x < end; ++x) {
      const Slice taps = columns_inside(p, x);
      t.x = x, t.j = taps.begin, t.j_end = taps.end;
      depthwise_channels<T, R, 1>(p, t, channels);
    }
  };
  alone(0, inner.begin);
  t.j = 0, t.j_end = p.columns;
  const int64_t n = inner.end - inner.begin, rest = n % kDepthwisePoints;
  const bool many = rest > kFewDepthwisePoints || rest == 0;  // for the last points as well
  const Slice first{inner.begin, many ? inner.end : inner.end - rest};
  const int64_t done = n >= kDepthwisePoints ? first.end : inner.begin;
  if (n >= kDepthwisePoints) depthwise_inner<T, R, kDepthwisePoints>(p, t, first.begin, first, channels);
  if (n < kFewDepthwisePoints)
    alone(done, inner.end);
  else if (done < inner.end)
    depthwise_inner<T, R, kFewDepthwisePoints>(p, t, done, inner, channels);
  alone(inner.end, width);
}

template <class T>
void depthwise_rows(const DepthwisePhase<T>& p, int64_t height, int64_t width, Slice channels) {
  Slice inner{0, width};  // points all of whose taps lie in the source's columns
  const auto is_inner = [&](int64_t x) {
    const Slice taps = columns_inside(p, x);
    return taps.begin == 0 && taps.end == p.columns;
  };
  while (inner.begin < width && !is_inner(inner.begin)) ++inner.begin;
  while (inner.end > inner.begin && !is_inner(inner.end - 1)) --inner.end;
  const bool pairs = p.row_step % p.tap_row == 0 && p.row_step < p.tap_row * p.rows;
  int64_t y = 0;
  for (; pairs && y + 2 <= height; y += 2) depthwise_points<T, 2>(p, y, width, inner, channels);
  for (; y < height; ++y) depthwise_points<T, 1>(p, y, width, inner, channels);
}

}  // namespace

void run_depthwise(const DepthwisePhase<float>& p, int64_t height, int64_t width, Slice channels) {
  depthwise_rows(p, height, width, channels);
}
void run_depthwise(const DepthwisePhase<Bfloat>& p, int64_t height, int64_t width, Slice channels) {
  depthwise_rows(p, height, width, channels);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
