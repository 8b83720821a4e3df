// Loops over x [rows, c], vectors along c, four rows at a time so that sums stay in registers longer.
#include <algorithm>

#include "kernels/normalization.h"
#include "kernels/softmax.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Calls body(column, load, store) for c columns: whole vectors, then one with the last lanes masked.
template <class Body>
TENON_INLINE void each_vector(int64_t c, Body body) {
  int64_t i = 0;
  for (; i + 8 <= c; i += 8)
    body(
        i, [](const float* p) { return load8(p); }, [](float* p, f32x8 v) { store8(p, v); });
  if (i == c) return;
  const i32x8 mask = lane_mask(c - i);
  body(
      i, [mask](const float* p) { return load8_mask(p, mask); },
      [mask](float* p, f32x8 v) { store8_mask(p, v, mask); });
}

// The normalized x: one expression, so that it has the same bits wherever it is computed.
TENON_INLINE f32x8 normalized(f32x8 x, f32x8 mean, f32x8 scale, f32x8 beta) { return (x - mean) * scale + beta; }

// a[c] += f(row, column vector) over all rows.
template <class F>
TENON_INLINE void add_rows(int64_t rows, int64_t c, float* a, F f) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4)
    each_vector(c, [&](int64_t i, auto load, auto store) {
      store(a + i, load(a + i) + ((f(r, i, load) + f(r + 1, i, load)) + (f(r + 2, i, load) + f(r + 3, i, load))));
    });
  for (; r < rows; ++r)
    each_vector(c, [&](int64_t i, auto load, auto store) { store(a + i, load(a + i) + f(r, i, load)); });
}

}  // namespace

void column_moments(const float* x, int64_t rows, int64_t c, float* mean, float* square) {
  std::fill_n(mean, c, 0.f);
  std::fill_n(square, c, 0.f);
  add_columns(x, rows, c, c, mean);
  const float scale = 1.f / static_cast<float>(rows);
  for (int64_t i = 0; i < c; ++i) mean[i] *= scale;
  add_rows(rows, c, square, [=](int64_t r, int64_t i, auto load) {
    const f32x8 d = load(x + r * c + i) - load(mean + i);
    return d * d;
  });
}

void add_columns(const float* x, int64_t rows, int64_t c, int64_t ld, float* sum) {
  add_rows(rows, c, sum, [=](int64_t r, int64_t i, auto load) { return load(x + r * ld + i); });
}

void add_squares(const float* x, int64_t rows, int64_t c, int64_t ld, const float* mean, float* square, float* rest) {
  for (int64_t r = 0; r < rows; r += 4) {
    const int64_t end = std::min(rows, r + 4);
    each_vector(c, [&](int64_t i, auto load, auto store) {
      const f32x8 m = load(mean + i);
      f32x8 s = {}, d = {};
      const auto term = [&](int64_t k) __attribute__((always_inline)) {
        const f32x8 v = load(x + k * ld + i) - m;
        d += v;
        s += v * v;
      };
      if (end - r == 4) {
        for (int64_t k = 0; k < 4; ++k) term(r + k);
      } else {
        for (int64_t k = r; k < end; ++k) term(k);
      }
      store(square + i, load(square + i) + s);
      store(rest + i, load(rest + i) + d);
    });
  }
}

void column_dots(const float* dz, const float* x, const float* mean, int64_t rows, int64_t c, float* sum, float* dot) {
  const auto term = [=](int64_t r, int64_t i, f32x8 m, auto load, f32x8& s, f32x8& d) {
    const f32x8 g = load(dz + r * c + i);
    s += g;
    d += g * (load(x + r * c + i) - m);
  };
  for (int64_t r = 0; r < rows; r += 4) {
    const int64_t end = std::min(rows, r + 4);
    each_vector(c, [&](int64_t i, auto load, auto store) {
      const f32x8 m = load(mean + i);
      f32x8 s = {}, d = {};
      if (end - r == 4) {
        for (int64_t k = 0; k < 4; ++k) term(r + k, i, m, load, s, d);
      } else {
        for (int64_t k = r; k < end; ++k) term(k, i, m, load, s, d);
      }
      store(sum + i, load(sum + i) + s);
      store(dot + i, load(dot + i) + d);
    });
  }
}

namespace {

enum Passes { kEverywhere, kByResult, kByArgument };

template <bool kOther, Passes kPasses>
void take_rows(float* dz, const float* x, const IncomingGradient& from, const float* mean, int64_t rows, int64_t c,
               int64_t ld, float* sum, float* dot) {
  const float *const other = from.other, *const y = from.y;
  const auto term = [=](int64_t at, int64_t i, f32x8 m, auto load, auto store, f32x8& s, f32x8& d)
      __attribute__((always_inline)) {
    f32x8 g = load(dz + at);
    const f32x8 v = load(x + at);
    if (kOther) g += load(other + at);
    if (kPasses == kByResult) g = load(y + at) > 0.f ? g : f32x8{};
    if (kPasses == kByArgument) g = normalized(v, m, load(from.scale + i), load(from.beta + i)) > 0.f ? g : f32x8{};
    if (kOther || kPasses != kEverywhere) store(dz + at, g);
    s += g;
    d += g * (v - m);
  };
  for (int64_t r = 0; r < rows; r += 4) {
    const int64_t end = std::min(rows, r + 4);
    each_vector(c, [&](int64_t i, auto load, auto store) {
      const f32x8 m = load(mean + i);
      f32x8 s = {}, d = {};
      if (end - r == 4) {
        for (int64_t k = 0; k < 4; ++k) term((r + k) * ld + i, i, m, load, store, s, d);
      } else {
        for (int64_t k = r; k < end; ++k) term(k * ld + i, i, m, load, store, s, d);
      }
      store(sum + i, load(sum + i) + s);
      store(dot + i, load(dot + i) + d);
    });
  }
}

}  // namespace

void take_gradient(float* dz, const float* x, const IncomingGradient& from, const float* mean, int64_t rows, int64_t c,
                   int64_t ld, float* sum, float* dot) {
  const auto take = from.y       ? from.other ? take_rows<true, kByResult> : take_rows<false, kByResult>
                          : from.scale ? from.other ? take_rows<true, kByArgument> : take_rows<false, kByArgument>
                          : from.other ? take_rows<true, kEverywhere>
                                 : take_rows<false, kEverywhere>;
  take(dz, x, from, mean, rows, c, ld, sum, dot);
}

void apply_columns(const float* x, const float* residual, int64_t rows, int64_t c, const float* mean,
                   const float* scale, const float* beta, bool relu, float* y) {
  const f32x8 floor = splat8(relu ? 0.f : -kInf);
  for (int64_t r = 0; r < rows; ++r, x += c, y += c) {
    each_vector(c, [&](int64_t i, auto load, auto store) {
      f32x8 v = normalized(load(x + i), load(mean + i), load(scale + i), beta ? load(beta + i) : f32x8{});
      if (residual) v += load(residual + i);
      store(y + i, max8(floor, v));
    });
    if (residual) residual += c;
  }
}

void grad_columns(const float* dz, const float* x, int64_t rows, int64_t c, const float* mean, const float* scale,
                  const float* slope, const float* shift, float* dx) {
  for (int64_t r = 0; r < rows; ++r, dz += c, x += c, dx += c)
    each_vector(c, [&](int64_t i, auto load, auto store) {
      const f32x8 d = load(x + i) - load(mean + i);
      store(dx + i, (load(scale + i) * load(dz + i) - load(shift + i)) - d * load(slope + i));
    });
}

void grad_columns(const float* dz, const float* x, int64_t rows, int64_t c, const float* mean, const float* scale,
                  const float* slope, const float* shift, float* dx, float* sum) {
  constexpr int64_t kRows = 4;  // whose sums stay in registers
  for (int64_t r = 0; r < rows; r += kRows) {
    const int64_t end = std::min(rows, r + kRows);
    each_vector(c, [&](int64_t i, auto load, auto store) {
      const f32x8 m = load(mean + i), by = load(scale + i), less = load(shift + i), tilt = load(slope + i);
      f32x8 s = {};
      for (int64_t k = r; k < end; ++k) {
        const f32x8 d = load(x + k * c + i) - m;
        const f32x8 v = (by * load(dz + k * c + i) - less) - d * tilt;
        store(dx + k * c + i, v);
        s += v;
      }
      store(sum + i, load(sum + i) + s);
    });
  }
}

namespace {

// Chan's formula, in f64; rows(p): of piece p.
template <class Rows>
void merge(const float* partial, int64_t pieces, Rows rows, int64_t c, Slice channels, double* mean, double* square) {
  const int64_t n = channels.end - channels.begin;
  std::fill_n(mean, n, 0.0);
  std::fill_n(square, n, 0.0);
  double all = 0;
  for (int64_t p = 0; p < pieces; ++p) all += rows(p);
  for (int64_t p = 0; p < pieces; ++p) {
    const float* m = partial + 2 * p * c + channels.begin;
    const double w = rows(p) / all;
    for (int64_t i = 0; i < n; ++i) mean[i] += w * static_cast<double>(m[i]);
  }
  for (int64_t p = 0; p < pieces; ++p) {
    const float* m = partial + 2 * p * c + channels.begin;
    const double w = rows(p);
    for (int64_t i = 0; i < n; ++i) {
      const double d = static_cast<double>(m[i]) - mean[i];
      square[i] += static_cast<double>(m[c + i]) + w * d * d;
    }
  }
}

}  // namespace

void merge_moments(const float* partial, int64_t pieces, int64_t piece, int64_t rows, int64_t c, Slice channels,
                   double* mean, double* square) {
  const auto count = [=](int64_t p) { return static_cast<double>(std::min(piece, rows - p * piece)); };
  merge(partial, pieces, count, c, channels, mean, square);
}

void merge_moments(const float* partial, int64_t pieces, const double* count, int64_t c, Slice channels, double* mean,
                   double* square) {
  merge(
      partial, pieces, [=](int64_t p) { return count[p]; }, c, channels, mean, square);
}

void add_pieces(const float* partial, int64_t pieces, int64_t step, Slice range, float* out) {
  constexpr int64_t kBlock = 64;
  double sum[kBlock];
  for (int64_t at = range.begin; at < range.end; at += kBlock) {
    const int64_t n = std::min(kBlock, range.end - at);
    std::fill_n(sum, n, 0.0);
    for (int64_t p = 0; p < pieces; ++p)
      for (int64_t i = 0; i < n; ++i) sum[i] += static_cast<double>(partial[p * step + at + i]);
    for (int64_t i = 0; i < n; ++i) out[at + i] = static_cast<float>(sum[i]);
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
