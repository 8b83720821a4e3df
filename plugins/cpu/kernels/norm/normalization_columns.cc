// Loops over x [rows, c] of f32 or bf16, vectors along c, four rows at a time so that sums stay in registers longer.
#include <algorithm>
#include <type_traits>

#include "kernels/norm/normalization.h"
#include "kernels/norm/softmax.h"
#include "kernels/stored.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

using V = Lanes::Vector;

// Calls body(column, load, store) for c columns: whole vectors, then one with the last lanes masked.
template <class Body>
TENON_INLINE void each_vector(int64_t c, Body body) {
  int64_t i = 0;
  for (; i + Lanes::kLanes <= c; i += Lanes::kLanes)
    body(
        i, [](auto* p) __attribute__((always_inline)) { return load_stored(p); },
        [](auto* p, V v) __attribute__((always_inline)) { store_stored(p, v); });
  if (i == c) return;
  const int64_t n = c - i;
  body(
      i, [n](auto* p) __attribute__((always_inline)) { return load_stored(p, n); },
      [n](auto* p, V v) __attribute__((always_inline)) { store_stored(p, v, n); });
}

// The normalized x: one expression, so that it has the same bits wherever it is computed.
TENON_INLINE V normalized(V x, V mean, V scale, V beta) { return (x - mean) * scale + beta; }

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

template <class T>
void column_moments(const T* x, int64_t rows, int64_t c, float* mean, float* square) {
  std::fill_n(mean, c, 0.f);
  std::fill_n(square, c, 0.f);
  add_columns(x, rows, c, c, mean);
  const float scale = 1.f / static_cast<float>(rows);
  for (int64_t i = 0; i < c; ++i) mean[i] *= scale;
  add_rows(rows, c, square, [=](int64_t r, int64_t i, auto load) {
    const V d = load(x + r * c + i) - load(mean + i);
    return d * d;
  });
}

template <class T>
void add_columns(const T* x, int64_t rows, int64_t c, int64_t ld, float* sum) {
  add_rows(rows, c, sum, [=](int64_t r, int64_t i, auto load) { return load(x + r * ld + i); });
}

template <class T>
void add_squares(const T* x, int64_t rows, int64_t c, int64_t ld, const float* mean, float* square, float* rest) {
  for (int64_t r = 0; r < rows; r += 4) {
    const int64_t end = std::min(rows, r + 4);
    each_vector(c, [&](int64_t i, auto load, auto store) {
      const V m = load(mean + i);
      V s = {}, d = {};
      const auto term = [&](int64_t k) __attribute__((always_inline)) {
        const V v = load(x + k * ld + i) - m;
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

template <class T>
void column_dots(const T* dz, const T* x, const float* mean, int64_t rows, int64_t c, float* sum, float* dot) {
  const auto term = [=](int64_t r, int64_t i, V m, auto load, V& s, V& d) {
    const V g = load(dz + r * c + i);
    s += g;
    d += g * (load(x + r * c + i) - m);
  };
  for (int64_t r = 0; r < rows; r += 4) {
    const int64_t end = std::min(rows, r + 4);
    each_vector(c, [&](int64_t i, auto load, auto store) {
      const V m = load(mean + i);
      V s = {}, d = {};
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

template <bool kOther, Passes kPasses, class T>
void take_rows(T* dz, const T* x, const IncomingGradient<T>& from, const float* mean, int64_t rows, int64_t c,
               int64_t ld, float* sum, float* dot) {
  const T *const other = from.other, *const y = from.y, *const dy = from.dy ? from.dy : dz;
  const bool moves = dy != dz;
  const V ceiling = Lanes::splat(from.ceiling ? 6.f : std::numeric_limits<float>::quiet_NaN());  // none is above NaN
  const auto term = [=](int64_t at, int64_t i, V m, auto load, auto store, V& s, V& d) __attribute__((always_inline)) {
    V g = load(dy + at);
    const V v = load(x + at);
    if (kOther) g += load(other + at);
    V z = {};
    if (kPasses == kByResult) z = load(y + at);
    if (kPasses == kByArgument) z = normalized(v, m, load(from.scale + i), load(from.beta + i));
    if (kPasses != kEverywhere) g = z > 0.f ? g : V{};
    if (kPasses != kEverywhere) g = z >= ceiling ? V{} : g;
    if (kOther || kPasses != kEverywhere || moves) store(dz + at, g);
    s += g;
    d += g * (v - m);
  };
  for (int64_t r = 0; r < rows; r += 4) {
    const int64_t end = std::min(rows, r + 4);
    each_vector(c, [&](int64_t i, auto load, auto store) {
      const V m = load(mean + i);
      V s = {}, d = {};
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

template <class T>
void take_gradient(T* dz, const T* x, const IncomingGradient<T>& from, const float* mean, int64_t rows, int64_t c,
                   int64_t ld, float* sum, float* dot) {
  const auto take = from.y       ? from.other ? take_rows<true, kByResult, T> : take_rows<false, kByResult, T>
                          : from.scale ? from.other ? take_rows<true, kByArgument, T> : take_rows<false, kByArgument, T>
                          : from.other ? take_rows<true, kEverywhere, T>
                                 : take_rows<false, kEverywhere, T>;
  take(dz, x, from, mean, rows, c, ld, sum, dot);
}

namespace {

// y of rows whose x(row, column, load) is given.
template <class T, class X>
TENON_INLINE void apply_rows(X x, const T* residual, int64_t rows, int64_t c, int64_t ld, const float* mean,
                             const float* scale, const float* beta, Clip clip, T* y) {
  const V floor = Lanes::splat(clip.floor), ceiling = Lanes::splat(clip.ceiling);
  for (int64_t r = 0; r < rows; ++r, y += ld) {
    each_vector(c, [&](int64_t i, auto load, auto store) {
      V v = normalized(x(r, i, load), load(mean + i), load(scale + i), beta ? load(beta + i) : V{});
      if (residual) v += load(residual + i);
      store(y + i, vmin(ceiling, vmax(floor, v)));
    });
    if (residual) residual += ld;
  }
}

}  // namespace

template <class T>
void apply_columns(const T* x, const std::type_identity_t<T>* residual, int64_t rows, int64_t c, int64_t ld,
                   const float* mean, const float* scale, const float* beta, Clip clip, T* y) {
  const auto at = [=](int64_t r, int64_t i, auto load)
                      __attribute__((always_inline)) { return load(x + r * ld + i); };
  apply_rows(at, residual, rows, c, ld, mean, scale, beta, clip, y);
}

void normalize_sums(const float* sums, int64_t sums_ld, const Bfloat* residual, int64_t rows, int64_t c, int64_t ld,
                    const float* mean, const float* scale, const float* beta, Clip clip, Bfloat* y) {
  const auto rounded = [=](int64_t r, int64_t i, auto load) __attribute__((always_inline)) {
    return widen_bf16<Lanes>(narrow_bf16<Lanes>(load(sums + r * sums_ld + i)));
  };
  apply_rows(rounded, residual, rows, c, ld, mean, scale, beta, clip, y);
}

template <class T>
void grad_columns(const T* dz, const T* x, int64_t rows, int64_t c, const float* mean, const float* scale,
                  const float* slope, const float* shift, T* dx) {
  for (int64_t r = 0; r < rows; ++r, dz += c, x += c, dx += c)
    each_vector(c, [&](int64_t i, auto load, auto store) {
      const V d = load(x + i) - load(mean + i);
      store(dx + i, (load(scale + i) * load(dz + i) - load(shift + i)) - d * load(slope + i));
    });
}

template <class T>
void grad_columns(const T* dz, const T* x, int64_t rows, int64_t c, const float* mean, const float* scale,
                  const float* slope, const float* shift, T* dx, float* sum) {
  constexpr int64_t kRows = 4;  // whose sums stay in registers
  for (int64_t r = 0; r < rows; r += kRows) {
    const int64_t end = std::min(rows, r + kRows);
    each_vector(c, [&](int64_t i, auto load, auto store) {
      const V m = load(mean + i), by = load(scale + i), less = load(shift + i), tilt = load(slope + i);
      V s = {};
      for (int64_t k = r; k < end; ++k) {
        const V d = load(x + k * c + i) - m;
        const V v = (by * load(dz + k * c + i) - less) - d * tilt;
        store(dx + k * c + i, v);
        s += v;
      }
      store(sum + i, load(sum + i) + s);
    });
  }
}

#define TENON_COLUMNS(T)                                                                                            \
  template void column_moments(const T*, int64_t, int64_t, float*, float*);                                         \
  template void add_columns(const T*, int64_t, int64_t, int64_t, float*);                                           \
  template void add_squares(const T*, int64_t, int64_t, int64_t, const float*, float*, float*);                     \
  template void column_dots(const T*, const T*, const float*, int64_t, int64_t, float*, float*);                    \
  template void take_gradient(T*, const T*, const IncomingGradient<T>&, const float*, int64_t, int64_t, int64_t,    \
                              float*, float*);                                                                      \
  template void apply_columns(const T*, const T*, int64_t, int64_t, int64_t, const float*, const float*,            \
                              const float*, Clip, T*);                                                              \
  template void grad_columns(const T*, const T*, int64_t, int64_t, const float*, const float*, const float*,        \
                             const float*, T*);                                                                     \
  template void grad_columns(const T*, const T*, int64_t, int64_t, const float*, const float*, const float*,        \
                             const float*, T*, float*);
TENON_COLUMNS(float)
TENON_COLUMNS(Bfloat)
#undef TENON_COLUMNS

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

template <class T>
void add_pieces(const float* partial, int64_t pieces, int64_t step, Slice range, T* out) {
  constexpr int64_t kBlock = 64;
  double sum[kBlock];
  for (int64_t at = range.begin; at < range.end; at += kBlock) {
    const int64_t n = std::min(kBlock, range.end - at);
    std::fill_n(sum, n, 0.0);
    for (int64_t p = 0; p < pieces; ++p)
      for (int64_t i = 0; i < n; ++i) sum[i] += static_cast<double>(partial[p * step + at + i]);
    for (int64_t i = 0; i < n; ++i) out[at + i] = static_cast<T>(sum[i]);
  }
}
template void add_pieces(const float*, int64_t, int64_t, Slice, float*);
template void add_pieces(const float*, int64_t, int64_t, Slice, Bfloat*);

}  // namespace tenon::cpu::TENON_CPU_ISA
