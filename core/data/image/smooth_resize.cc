// Each output pixel is the mean of the inputs under a triangle about its middle, which is as wide as an output pixel and half of each
// neighbour, at least two input pixels: tf.image.resize(antialias=True) and Pillow's BILINEAR.
#include "data/image/smooth_resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "data/image/value_changes.h"
#include "data/image/wide.h"

namespace tenon {
namespace {

using Float4 = float __attribute__((vector_size(16)));

struct Span {
  int begin, end;
};

struct Triangle {
  double step, reach;
  Triangle(int in, int grid) : step(static_cast<double>(in) / grid), reach(std::max(step, 1.0)) {}
  double middle(int i) const { return (i + 0.5) * step; }
  Span span(int in, int i) const {
    const int begin = std::max(static_cast<int>(std::ceil(middle(i) - reach - 0.5)), 0);
    const int end = std::min(static_cast<int>(std::floor(middle(i) + reach - 0.5)) + 1, in);
    return {std::min(begin, in - 1), std::max(end, std::min(begin, in - 1) + 1)};
  }
  double weight(int i, int at) const { return std::max(0.0, 1 - std::fabs((at + 0.5 - middle(i)) / reach)); }
};

// One axis: which inputs each output is of, and their weights, one output after the other.
struct SmoothAxis {
  std::vector<Span> spans;
  std::vector<size_t> first;  // of the weights of an output
  std::vector<float> weights;
  AxisRange range;

  void set(int in, int grid, int from, int count, bool reverse) {
    const Triangle triangle(in, grid);
    spans.clear(), first.clear(), weights.clear();
    for (int o = 0; o < count; ++o) {
      const int i = from + (reverse ? count - 1 - o : o);
      const Span span = triangle.span(in, i);
      double sum = 0;
      for (int at = span.begin; at < span.end; ++at) sum += triangle.weight(i, at);
      spans.push_back(span);
      first.push_back(weights.size());
      for (int at = span.begin; at < span.end; ++at)
        weights.push_back(static_cast<float>(sum > 0 ? triangle.weight(i, at) / sum : 1.0 / (span.end - span.begin)));
    }
    range = touched_smoothly(in, grid, from, count);
  }
};

struct SmoothScratch {
  SmoothAxis rows, columns;
  std::vector<float> row;
};

template <class T>
TENON_INLINE void add_row(const T* in, float weight, int n, float* __restrict out) {
  for (int i = 0; i < n; ++i) out[i] += static_cast<float>(in[i]) * weight;
}
template <class T>
TENON_AVX2 void add_row_avx2(const T* in, float weight, int n, float* out) {
  add_row(in, weight, n, out);
}
template <class T>
void add_row_any(const T* in, float weight, int n, float* out) {
  add_row(in, weight, n, out);
}

// row: pixels of C values from range.begin on, and three values more; out: [count, C].
template <int C>
void mix_columns(const float* row, const SmoothAxis& columns, float* out) {
  const int count = static_cast<int>(columns.spans.size());
  for (int x = 0; x < count; ++x, out += C) {
    const Span span = columns.spans[static_cast<size_t>(x)];
    const float* weight = columns.weights.data() + columns.first[static_cast<size_t>(x)];
    const float* in = row + static_cast<size_t>(span.begin - columns.range.begin) * C;
    Float4 sum = {0, 0, 0, 0};
    for (int at = span.begin; at < span.end; ++at, in += C, ++weight) {
      Float4 pixel;
      std::memcpy(&pixel, in, sizeof pixel);
      sum += pixel * *weight;
    }
    for (int c = 0; c < C; ++c) out[c] = sum[c];
  }
}

template <int C, class T>
void smooth_rows(const PixelView& image, const ResizeWindow& w, SmoothScratch& s, float scale, float offset, float* out) {
  const auto add = has_avx2() ? add_row_avx2<T> : add_row_any<T>;
  const int n = (s.columns.range.end - s.columns.range.begin) * C;
  const size_t stride = static_cast<size_t>(image.stored) * C;
  const T* first = static_cast<const T*>(image.data) + static_cast<size_t>(s.columns.range.begin - image.x) * C;
  for (int y = 0; y < w.height; ++y, out += w.width * C) {
    const Span span = s.rows.spans[static_cast<size_t>(y)];
    const float* weight = s.rows.weights.data() + s.rows.first[static_cast<size_t>(y)];
    std::fill_n(s.row.begin(), n, offset);
    for (int at = span.begin; at < span.end; ++at, ++weight)
      add(first + static_cast<size_t>(at - image.y) * stride, *weight * scale, n, s.row.data());
    mix_columns<C>(s.row.data(), s.columns, out);
  }
}

template <int C>
void smooth_rows(const PixelView& image, const ResizeWindow& w, SmoothScratch& s, float scale, float offset, float* out) {
  const auto run = image.type == PixelType::kU8    ? smooth_rows<C, uint8_t>
                   : image.type == PixelType::kU16 ? smooth_rows<C, uint16_t>
                                                   : smooth_rows<C, float>;
  run(image, w, s, scale, offset, out);
}

}  // namespace

AxisRange touched_smoothly(int in, int grid, int first, int count) {
  const Triangle triangle(in, grid);
  return {triangle.span(in, first).begin, triangle.span(in, first + count - 1).end};
}

void resize_smoothly(const PixelView& image, const ResizeWindow& w, float scale, float offset, float* out, float* means) {
  thread_local SmoothScratch s;
  s.rows.set(image.height, w.grid_height, w.top, w.height, w.flip_rows);
  s.columns.set(image.width, w.grid_width, w.left, w.width, w.flip);
  s.row.resize(static_cast<size_t>(s.columns.range.end - s.columns.range.begin) * image.channels + 3);
  const auto run = image.channels == 1 ? smooth_rows<1> : image.channels == 3 ? smooth_rows<3> : smooth_rows<4>;
  run(image, w, s, scale, offset, out);
  if (means) change_values(out, int64_t{w.height} * w.width, image.channels, {}, means);
}

}  // namespace tenon
