#include "kernels/conv/direct/depthwise_filter_tile.h"

#include <algorithm>

#include "kernels/conv/direct/depthwise_channels.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kFilterSums = 15;
#elif defined(__AVX2__)
constexpr int kFilterSums = 14;
#else
constexpr int kFilterSums = 7;
#endif

// The sums of I rows of J taps, from tap row i on, of one vector of channels.
template <class T, int I, int J, bool Part>
class DepthwiseFilterTile {
  using V = Lanes::Vector;

 public:
  TENON_INLINE DepthwiseFilterTile(const DepthwiseFilterRows<T>& f, int64_t i, int64_t c, int64_t n)
      : f_(f), i_(i), c_(c), n_(n) {
    // Processors foresee the next row where rows are read once alone. Short rows are over before it is there: they fetch the
    // next vector of channels.
    constexpr int64_t kLongRow = 56;
    if (f.width < kLongRow) {
      next_dy_ = Lanes::kLanes, next_x_ = (I - 1) * f.tap_row * f.x_row + Lanes::kLanes, fetches_rows_ = c == 0;
    } else if (f.row_step == 1) {
      next_dy_ = f.dy_row, next_x_ = I * f.tap_row * f.x_row;
    }
  }

  TENON_INLINE void run(int64_t height, Slice inner) {
    float* const dw = f_.dw + i_ * J * f_.dw_tap + c_;
#pragma GCC unroll 8
    for (int i = 0; i < I; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < J; ++j) acc_[i][j] = channels_at<Part>(dw + (i * J + j) * f_.dw_tap, n_);
    for (int64_t y = 0; y < height; ++y) row(y, inner);
#pragma GCC unroll 8
    for (int i = 0; i < I; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < J; ++j) put_channels<Part>(dw + (i * J + j) * f_.dw_tap, acc_[i][j], n_);
  }

 private:
  TENON_INLINE void row(int64_t y, Slice inner) {
    const int64_t top = y * f_.row_step + f_.first_row + i_ * f_.tap_row;
    const Slice rows = taps_inside(I, top, f_.tap_row, f_.x_rows);
    const bool whole = rows.begin == 0 && rows.end == I;
    const T* dy = f_.dy + y * f_.dy_row + c_;
    const T* from = f_.x + top * f_.x_row + f_.first_column * f_.x_point + c_;
    const int64_t step = f_.column_step * f_.x_point;
    for (int64_t x = 0; x < f_.width; ++x, dy += f_.dy_point, from += step) {
      if (whole && x == inner.begin)
        for (; x < inner.end; ++x, dy += f_.dy_point, from += step) point<true>(dy, from, {}, {});
      if (x == f_.width) break;
      point<false>(dy, from, rows, taps_inside(J, x * f_.column_step + f_.first_column, f_.tap_column, f_.x_columns));
    }
  }

  static TENON_INLINE void fetch(const T* p) { __builtin_prefetch(p, 0, 2); }

  template <bool Whole>
  TENON_INLINE void point(const T* at, const T* from, Slice rows, Slice columns) {
    const V dy = channels_at<Part>(at, n_);
    if constexpr (Whole) {
      fetch(at + next_dy_), fetch(from + next_x_);
      if (fetches_rows_) fetch(at + f_.dy_row), fetch(from + I * f_.tap_row * f_.x_row);
    }
    const int64_t row = f_.tap_row * f_.x_row, column = f_.tap_column * f_.x_point;
#pragma GCC unroll 8
    for (int i = 0; i < I; ++i) {
      if (!Whole && (i < rows.begin || i >= rows.end)) continue;
#pragma GCC unroll 8
      for (int j = 0; j < J; ++j)
        if (Whole || (j >= columns.begin && j < columns.end))
          acc_[i][j] += channels_at<Part>(from + i * row + j * column, n_) * dy;
    }
  }

  const DepthwiseFilterRows<T>& f_;
  const int64_t i_, c_, n_;
  int64_t next_dy_ = 0, next_x_ = 0;  // what is fetched, elements further on
  bool fetches_rows_ = false;         // those of the next row too
  V acc_[I][J];
};

template <class T, int I, int J>
__attribute__((noinline)) void depthwise_filter_channels(const DepthwiseFilterRows<T>& f, int64_t i, int64_t height,
                                                         Slice inner, Slice channels) {
  int64_t c = channels.begin;
  for (; c + Lanes::kLanes <= channels.end; c += Lanes::kLanes)
    DepthwiseFilterTile<T, I, J, false>(f, i, c, Lanes::kLanes).run(height, inner);
  if (c < channels.end) DepthwiseFilterTile<T, I, J, true>(f, i, c, channels.end - c).run(height, inner);
}

// As many rows of taps at a time as registers hold the sums of.
template <class T, int I, int J>
void depthwise_filter_taps(const DepthwiseFilterRows<T>& f, int64_t i, int64_t height, Slice inner, Slice channels) {
  for (; i + I <= f.rows; i += I) depthwise_filter_channels<T, I, J>(f, i, height, inner, channels);
  if constexpr (I > 1) depthwise_filter_taps<T, I - 1, J>(f, i, height, inner, channels);
}

// Points all of whose taps lie in x's columns.
template <class T>
Slice inner_points(const DepthwiseFilterRows<T>& f) {
  const auto is_inner = [&](int64_t x) {
    const int64_t at = x * f.column_step + f.first_column;
    return at >= 0 && at + (f.columns - 1) * f.tap_column < f.x_columns;
  };
  Slice inner{0, f.width};
  while (inner.begin < f.width && !is_inner(inner.begin)) ++inner.begin;
  while (inner.end > inner.begin && !is_inner(inner.end - 1)) --inner.end;
  return inner;
}

template <class T>
void depthwise_filter_rows(const DepthwiseFilterRows<T>& f, int64_t height, Slice channels) {
  const Slice inner = inner_points(f);
  const auto of_columns = [&]<int J>(std::integral_constant<int, J>) {
    constexpr int kRows = kFilterSums / J < 1 ? 1 : kFilterSums / J > J ? J : kFilterSums / J;
    depthwise_filter_taps<T, kRows, J>(f, 0, height, inner, channels);
  };
  if (f.columns == 3) return of_columns(std::integral_constant<int, 3>{});
  if (f.columns == 5) return of_columns(std::integral_constant<int, 5>{});
  of_columns(std::integral_constant<int, 7>{});
}

}  // namespace

void run_depthwise_filter(const DepthwiseFilterRows<float>& f, int64_t height, Slice channels) {
  depthwise_filter_rows(f, height, channels);
}
void run_depthwise_filter(const DepthwiseFilterRows<Bfloat>& f, int64_t height, Slice channels) {
  depthwise_filter_rows(f, height, channels);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
