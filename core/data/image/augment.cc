#include "data/image/augment.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

#include "data/image/smooth_resize.h"
#include "data/image/value_changes.h"
#include "data/image/wide.h"

namespace tenon {
namespace {

using Float4 = float __attribute__((vector_size(16)));

TENON_INLINE Float4 load4(const float* from) {
  Float4 v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

struct Place {
  int lower, upper;
  float weight;  // of the upper one
};

// In f32, as TensorFlow computes it.
TENON_INLINE Place place_of(int in, float step, int i, ResizeKind kind) {
  if (kind == ResizeKind::kHalfPixel) {
    const float at = (static_cast<float>(i) + 0.5f) * step - 0.5f, whole = std::floor(at);
    return {std::clamp(static_cast<int>(whole), 0, in - 1), std::clamp(static_cast<int>(whole) + 1, 0, in - 1),
            at - whole};
  }
  const float at = static_cast<float>(i) * step;
  const int lower = std::min(static_cast<int>(at), in - 1);
  return {lower, std::min(lower + 1, in - 1), at - static_cast<float>(lower)};
}

float step_of(int in, int grid) { return static_cast<float>(in) / static_cast<float>(grid); }

// One axis of the window: for each output, the two inputs and the weight of the second.
struct Axis {
  std::vector<int> lower, upper;
  std::vector<float> weight;
  AxisRange range;

  void set(int in, int grid, int first, int count, bool reverse, ResizeKind kind) {
    lower.resize(static_cast<size_t>(count));
    upper.resize(lower.size());
    weight.resize(lower.size());
    const float step = step_of(in, grid);
    for (int i = 0; i < count; ++i) {
      const Place place = place_of(in, step, first + i, kind);
      const size_t o = static_cast<size_t>(reverse ? count - 1 - i : i);
      lower[o] = place.lower;
      upper[o] = place.upper;
      weight[o] = place.weight;
    }
    range = touched(in, grid, first, count, kind);
  }

  // From input pixels to offsets of values in a row that begins at range.begin.
  void to_offsets(int channels) {
    for (int& at : lower) at = (at - range.begin) * channels;
    for (int& at : upper) at = (at - range.begin) * channels;
  }
};

struct Scratch {
  Axis rows, columns;
  std::vector<float> row;
};

// out[n] = (a + (b - a) * weight) * scale + offset
template <class T>
TENON_INLINE void blend_rows(const T* a, const T* b, float weight, float scale, float offset, int n,
                             float* __restrict out) {
  const float wb = weight * scale, wa = scale - wb;
  for (int i = 0; i < n; ++i) out[i] = static_cast<float>(a[i]) * wa + (static_cast<float>(b[i]) * wb + offset);
}

// in: a row of pixels of C values, 3 or 4, and one value more, out: [count, C]. Four values at a time; of three the fourth is
// overwritten by the next pixel, so the last pixel goes value by value. Returns the sums of the channels.
template <int C>
TENON_INLINE Float4 blend_columns(const float* in, const Axis& columns, int count, float* out) {
  const int* lower = columns.lower.data();
  const int* upper = columns.upper.data();
  const float* weight = columns.weight.data();
  const auto blend = [&](int x) {
    const Float4 low = load4(in + lower[x]), high = load4(in + upper[x]);
    return low + (high - low) * weight[x];
  };
  Float4 sum = {0, 0, 0, 0};
  for (int x = 0; x + 1 < count; ++x) {
    const Float4 value = blend(x);
    sum += value;
    std::memcpy(out + C * x, &value, sizeof value);
  }
  const Float4 last = blend(count - 1);
  for (int c = 0; c < C; ++c) out[C * (count - 1) + c] = last[c];
  return sum + last;
}

TENON_INLINE float blend_columns1(const float* in, const Axis& columns, int count, float* out) {
  for (int x = 0; x < count; ++x) {
    const float low = in[columns.lower[static_cast<size_t>(x)]], high = in[columns.upper[static_cast<size_t>(x)]];
    out[x] = low + (high - low) * columns.weight[static_cast<size_t>(x)];
  }
  float sum[4] = {0, 0, 0, 0};
  for (int x = 0; x < count; ++x) sum[x & 3] += out[x];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// out: [height, width, C]; sums: C.
template <int C, class T>
TENON_INLINE void resize_rows(const PixelView& image, Scratch& s, int height, int width, float scale, float offset,
                              float* out, double* sums) {
  const int n = (s.columns.range.end - s.columns.range.begin) * C;
  const size_t stride = static_cast<size_t>(image.stored) * C;
  const T* first = static_cast<const T*>(image.data) + static_cast<size_t>(s.columns.range.begin - image.x) * C;
  for (int y = 0; y < height; ++y, out += width * C) {
    const size_t i = static_cast<size_t>(y);
    const T* row = first + static_cast<size_t>(s.rows.lower[i] - image.y) * stride;
    const T* next = first + static_cast<size_t>(s.rows.upper[i] - image.y) * stride;
    blend_rows(row, next, s.rows.weight[i], scale, offset, n, s.row.data());
    if constexpr (C >= 3) {
      const Float4 sum = blend_columns<C>(s.row.data(), s.columns, width, out);
      for (int c = 0; c < C; ++c) sums[c] += sum[c];
    } else {
      sums[0] += blend_columns1(s.row.data(), s.columns, width, out);
    }
  }
}

template <int C, class T>
TENON_AVX2 void resize_rows_avx2(const PixelView& image, Scratch& s, int height, int width, float scale, float offset,
                                 float* out, double* sums) {
  resize_rows<C, T>(image, s, height, width, scale, offset, out, sums);
}

template <int C, class T>
TENON_AVX512 void resize_rows_avx512(const PixelView& image, Scratch& s, int height, int width, float scale,
                                     float offset, float* out, double* sums) {
  resize_rows<C, T>(image, s, height, width, scale, offset, out, sums);
}

template <int C, class T>
void resize_rows_any(const PixelView& image, Scratch& s, int height, int width, float scale, float offset, float* out,
                     double* sums) {
  resize_rows<C, T>(image, s, height, width, scale, offset, out, sums);
}

template <int C, class T>
void resize(const PixelView& image, const ResizeWindow& w, float scale, float offset, float* out, double* sums) {
  thread_local Scratch s;
  s.rows.set(image.height, w.grid_height, w.top, w.height, w.flip_rows, w.kind);
  s.columns.set(image.width, w.grid_width, w.left, w.width, w.flip, w.kind);
  const size_t values = static_cast<size_t>(s.columns.range.end - s.columns.range.begin) * C;
  if (s.row.size() < values + 1) s.row.resize(values + 1);
  s.columns.to_offsets(C);
  const auto run = has_avx512() ? resize_rows_avx512<C, T>
                   : has_avx2() ? resize_rows_avx2<C, T>
                                : resize_rows_any<C, T>;
  run(image, s, w.height, w.width, scale, offset, out, sums);
}

template <class T>
TENON_INLINE void scale_pixels(const T* in, int n, float scale, float offset, float* __restrict out) {
  for (int i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]) * scale + offset;
}
template <class T>
TENON_AVX2 void scale_pixels_avx2(const T* in, int n, float scale, float offset, float* out) {
  scale_pixels(in, n, scale, offset, out);
}
template <class T>
void scale_pixels_any(const T* in, int n, float scale, float offset, float* out) {
  scale_pixels(in, n, scale, offset, out);
}

// The grid is the image itself: a window of it, without arithmetic between pixels.
template <int C, class T>
void copy_window(const PixelView& image, const ResizeWindow& w, float scale, float offset, float* out, double* sums) {
  const auto convert = has_avx2() ? scale_pixels_avx2<T> : scale_pixels_any<T>;
  const size_t stride = static_cast<size_t>(image.stored) * C;
  const T* const first = static_cast<const T*>(image.data) + static_cast<size_t>(w.left - image.x) * C;
  std::conditional_t<std::is_integral_v<T>, uint64_t, double> totals[C] = {};
  for (int y = 0; y < w.height; ++y, out += w.width * C) {
    const T* row = first + static_cast<size_t>(w.top + (w.flip_rows ? w.height - 1 - y : y) - image.y) * stride;
    for (int x = 0; sums && x < w.width; ++x)
      for (int c = 0; c < C; ++c) totals[c] += row[x * C + c];
    if (!w.flip) {
      convert(row, w.width * C, scale, offset, out);
      continue;
    }
    for (int x = 0; x < w.width; ++x)
      for (int c = 0; c < C; ++c) out[x * C + c] = static_cast<float>(row[(w.width - 1 - x) * C + c]) * scale + offset;
  }
  const double count = static_cast<double>(w.height) * w.width;
  for (int c = 0; sums && c < C; ++c) sums[c] = static_cast<double>(totals[c]) * scale + count * offset;
}

template <int C, class T>
void window_of(const PixelView& image, const ResizeWindow& w, float scale, float offset, float* out, float* means) {
  double sums[4] = {0, 0, 0, 0};
  if (w.grid_height == image.height && w.grid_width == image.width)
    copy_window<C, T>(image, w, scale, offset, out, means ? sums : nullptr);
  else
    resize<C, T>(image, w, scale, offset, out, sums);
  for (int c = 0; means && c < C; ++c)
    means[c] = static_cast<float>(sums[c] / (static_cast<double>(w.height) * w.width));
}

template <class T>
void window_of(const PixelView& image, const ResizeWindow& w, float scale, float offset, float* out, float* means) {
  const auto run = image.channels == 1 ? window_of<1, T> : image.channels == 3 ? window_of<3, T> : window_of<4, T>;
  run(image, w, scale, offset, out, means);
}

}  // namespace

AxisRange touched(int in, int grid, int first, int count, ResizeKind kind) {
  if (kind == ResizeKind::kAntialias) return touched_smoothly(in, grid, first, count);
  const float step = step_of(in, grid);
  return {place_of(in, step, first, kind).lower, place_of(in, step, first + count - 1, kind).upper + 1};
}

void resize_window(const PixelView& image, const ResizeWindow& window, float scale, float offset, float* out,
                   float* means) {
  const bool resized = window.grid_height != image.height || window.grid_width != image.width;
  if (resized && window.kind == ResizeKind::kAntialias)
    return resize_smoothly(image, window, scale, offset, out, means);
  const auto run = image.type == PixelType::kU8    ? window_of<uint8_t>
                   : image.type == PixelType::kU16 ? window_of<uint16_t>
                                                   : window_of<float>;
  run(image, window, scale, offset, out, means);
}

void resize_and_colour(const PixelView& image, const ResizeWindow& window, const ColourChange& change, float* out) {
  if (change.contrast == 1.0f) {  // one pass
    resize_window(image, window, change.scale * change.unit, change.brightness * change.scale + change.offset, out,
                  nullptr);
    return;
  }
  float means[4] = {};
  resize_window(image, window, change.unit, 0.0f, out, means);
  ValueChange values;
  // Brightness moves the mean too, so that the contrast does not scale it.
  for (int c = 0; c < image.channels; ++c) {
    values.scale[c] = change.contrast * change.scale;
    values.offset[c] = (means[c] - means[c] * change.contrast + change.brightness) * change.scale + change.offset;
  }
  change_values(out, int64_t{window.height} * window.width, image.channels, {&values, 1}, nullptr);
}

}  // namespace tenon
