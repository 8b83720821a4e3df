#include "kernels/gemm/gemm_tile.h"

#include <algorithm>

#include "kernels/bf16.h"
#include "kernels/gemm/gemm_tile_ends.h"
#include "kernels/gemm/tiles/matrix_tile.h"
#include "kernels/pairs.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// R rows x NV vectors of columns. Masked: the last vector of W may not be read past `columns`. kLength: of a
// run, with steps as packed, so that short runs unroll; 0: any.
template <class V, int NV, int R, bool Masked, bool Plain = false, int kLength = 0>
TENON_INLINE void tile(const Panel& p, const int64_t* a_rows, const int64_t* c_rows) {
  using Vector = typename V::Vector;
  Vector acc[R][NV];
  const Tail<V> tail(p.columns - (NV - 1) * V::kLanes);
  const Clip clip = Clip::of(p.act);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) start<V, NV, Plain>(p, tail, c_rows[r], acc[r]);
  const float* w = p.w;
  const int64_t length = kLength > 0 ? kLength : p.run_length;
  const int64_t a_step = kLength > 0 ? 1 : p.a_step, w_step = kLength > 0 ? NV * V::kLanes : p.w_step;
  for (int64_t i = 0; i < p.n_runs; ++i) {
    const float* a[R];
    const float* base = p.a + p.runs[i];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) a[r] = base + a_rows[r];
    const auto step = [&](int64_t at, const float* from) __attribute__((always_inline)) {
      Vector b[NV];
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v)
        b[v] = Masked && v == NV - 1 ? V::load(from + V::kLanes * v, tail.mask) : V::load(from + V::kLanes * v);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const Vector x = V::splat(a[r][at]);
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) acc[r][v] = V::add_product(acc[r][v], x, b[v]);
      }
    };
    if constexpr (kLength > 0) {
#pragma GCC unroll 16
      for (int k = 0; k < kLength; ++k) {
        step(k, w + k * NV * V::kLanes);
        asm volatile("" ::: "memory");  // loads drawn together would spill sums
      }
      w += kLength * NV * V::kLanes;
    } else {
      const float* const end = w + length * w_step;
      int64_t at = 0;
#pragma GCC unroll 2
      for (; w != end; w += w_step, at += a_step) step(at, w);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) finish<V, NV, Plain>(p, tail, c_rows[r], clip, acc[r]);
  activate<R>(p, c_rows);
}

template <class V, int NV, int R, bool Masked>
__attribute__((noinline)) void some_rows(const Panel& p, int64_t first) {
  tile<V, NV, R, Masked>(p, p.a_rows + first, p.c_rows + first);
}

template <class V, int NV, int R, bool Masked>
void last_rows(const Panel& p, int64_t first, int64_t count) {
  if constexpr (R > 0) {
    if (count == R) return some_rows<V, NV, R, Masked>(p, first);
    last_rows<V, NV, R - 1, Masked>(p, first, count);
  }
}

// What the next tile adds to its sums arrives while those of this one are made.
template <int kColumns, int R>
TENON_INLINE void fetch_added(const float* from, const int64_t* c_rows) {
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; c += 16) __builtin_prefetch(from + c_rows[r] + c);
}

// What R rows of sums meet later, into the cache of second level.
template <int kColumns, int R>
TENON_INLINE void fetch_later(const uint16_t* from, int64_t step) {
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int c = 0; c < kColumns; c += 32) __builtin_prefetch(from + r * step + c, 0, 2);
}

template <class V, int NV, int R, bool Masked, bool Plain = false, int kLength = 0>
__attribute__((noinline)) void whole_tiles(const Panel& p, int64_t rows) {
  for (int64_t r = 0; r + R <= rows; r += R) {
    if (p.later) fetch_later<NV * V::kLanes, R>(p.later + r * p.later_step, p.later_step);
    if (!Plain && r + 2 * R <= rows) {
      if (p.accumulate) fetch_added<NV * V::kLanes, R>(p.c, p.c_rows + r + R);
      if (p.residual) fetch_added<NV * V::kLanes, R>(p.residual, p.c_rows + r + R);
    }
    tile<V, NV, R, Masked, Plain, kLength>(p, p.a_rows + r, p.c_rows + r);
  }
}

// Whole vectors, new sums, no epilogue but an activation.
template <class V, int NV, int R>
void plain_tiles(const Panel& p, int64_t rows) {
  const bool packed = p.a_step == 1 && p.w_step == NV * V::kLanes;
  if (packed && p.run_length == 3) return whole_tiles<V, NV, R, false, true, 3>(p, rows);
  if (packed && p.run_length == 5) return whole_tiles<V, NV, R, false, true, 5>(p, rows);
  if (packed && p.run_length == 9) return whole_tiles<V, NV, R, false, true, 9>(p, rows);
  whole_tiles<V, NV, R, false, true>(p, rows);
}

// A few rows alone wait for each other's sums: the last two tiles share what is left evenly.
template <class V, int NV, int R, bool Masked>
void all_rows(const Panel& p, int64_t rows) {
  int64_t whole = rows / R * R, left = rows - whole;
  if (left > 0 && left <= R / 2 && whole > 0) whole -= R, left += R;
  const bool plain = p.columns == NV * V::kLanes && !p.accumulate && !p.residual && !p.norm.scale;
  if (plain && NV * V::kLanes > 8)
    plain_tiles<V, NV, R>(p, whole);
  else
    whole_tiles<V, NV, R, Masked>(p, whole);
  if (left > R) {
    last_rows<V, NV, R, Masked>(p, whole, (left + 1) / 2);
    whole += (left + 1) / 2;
    left /= 2;
  }
  if (left > 0) last_rows<V, NV, R, Masked>(p, whole, left);
}

// Sums in registers: as many as leave room for NV vectors of W and one of A. With 8 rows or fewer their addresses are in
// registers too.
template <class Narrow, class Wide, bool Masked>
void choose(const Panel& p, int64_t rows) {
  if (p.columns <= 8) return all_rows<Narrow, 1, 8, Masked>(p, rows);
  if constexpr (Wide::kLanes == 16) {
    if (p.columns <= 16) return all_rows<Wide, 1, 8, Masked>(p, rows);
    if (p.columns <= 32) return all_rows<Wide, 2, 8, Masked>(p, rows);
    if (p.columns <= 48) return all_rows<Wide, 3, 8, Masked>(p, rows);
    all_rows<Wide, 4, 6, Masked>(p, rows);
  } else {
    if (p.columns <= 16) return all_rows<Wide, 2, 6, Masked>(p, rows);
    all_rows<Wide, 3, 4, Masked>(p, rows);
  }
}

template <class Narrow, class Wide>
void run_panel_of(const Panel& p, int64_t rows) {
  if (p.w_padded || p.columns == padded_columns(p.columns)) return choose<Narrow, Wide, false>(p, rows);
  choose<Narrow, Wide, true>(p, rows);
}

// How much of the W to come each step fetches, spread evenly over the tiles.
constexpr int64_t kFetchSteps = 4;  // of k, in which
template <class T>
constexpr int64_t kLine = 64 / sizeof(T);
template <class T>
constexpr int64_t kFetchLines = kPanelColumns >= 2 * kLine<T> ? 2 : 1;  // cache lines are fetched
template <class T>
constexpr int64_t kFetchParts = std::max<int64_t>(1, kPanelColumns / (kLine<T> * kFetchLines<T>));  // of a row

template <class T>
struct Fetch {
  const T* at;
  int64_t step;
};

// Row k of W as it lies: of halves the second of two comes first.
template <class V>
TENON_INLINE typename V::Vector load_row(const float* w, int64_t step, int64_t k, int64_t column) {
  return V::load(w + k * step + column);
}
template <class V>
TENON_INLINE typename V::Vector load_row(const uint16_t* w, int64_t step, int64_t k, int64_t column) {
  return widen_bf16<V>(load_as<Halves<V>>(w + (k ^ 1) * step + column));
}

// T: of W as it lies, which is read where it is packed, and fetched.
template <class V, class T, int NV, int R, bool Pack>
__attribute__((noinline)) void streamed_tile(const Panel& p, int64_t first, float* packed, Fetch<T> fetch) {
  using Vector = typename V::Vector;
  const int64_t *a_rows = p.a_rows + first, *c_rows = p.c_rows + first;
  Vector acc[R][NV];
  const Tail<V> tail(V::kLanes);
  const Clip clip = Clip::of(p.act);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) start<V, NV, false>(p, tail, c_rows[r], acc[r]);
  using Source = std::conditional_t<Pack, T, float>;
  const Source* w = reinterpret_cast<const Source*>(p.w);
  for (int64_t i = 0; i < p.n_runs; ++i) {
    const float* a[R];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) a[r] = p.a + p.runs[i] + a_rows[r];
    const auto step = [&](int64_t k) __attribute__((always_inline)) {
      Vector b[NV];
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) b[v] = load_row<V>(w, p.w_step, k, V::kLanes * v);
      if (Pack) {
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) V::store(packed + V::kLanes * v, b[v]);
        packed += NV * V::kLanes;
      }
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const Vector x = V::splat(a[r][k * p.a_step]);
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) acc[r][v] = V::add_product(acc[r][v], x, b[v]);
      }
    };
    int64_t k = 0;
    for (; k + kFetchSteps <= p.run_length; k += kFetchSteps) {
      if (!Pack) {
#pragma GCC unroll 2
        for (int64_t line = 0; line < kFetchLines<T>; ++line) __builtin_prefetch(fetch.at + kLine<T> * line, 0, 2);
        fetch.at += fetch.step;
      }
#pragma GCC unroll 4
      for (int64_t s = 0; s < kFetchSteps; ++s) step(k + s);
    }
    for (; k < p.run_length; ++k) step(k);
    w += p.run_length * p.w_step;
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) finish<V, NV, false>(p, tail, c_rows[r], clip, acc[r]);
  activate<R>(p, c_rows);
}

template <class V, class T, int NV, int R>
void last_streamed(const Panel& p, int64_t first, int64_t count, Fetch<T> fetch) {
  if constexpr (R > 0) {
    if (count == R) return streamed_tile<V, T, NV, R, false>(p, first, nullptr, fetch);
    last_streamed<V, T, NV, R - 1>(p, first, count, fetch);
  }
}

void pack_rows(const float* w, int64_t depth, int64_t step, float* packed) {
  pack_panels(w, depth, kPanelColumns, step, depth, packed);
}
void pack_rows(const uint16_t* w, int64_t depth, int64_t step, float* packed) {
  widen_panels(w, depth, kPanelColumns, step, depth, packed);
}

// As all_rows, tile by tile: those after the first fetch a part each, until all is fetched.
template <class V, class T, int NV, int R>
void stream_rows(const Panel& panel, const Stream& stream, int64_t rows) {
  Panel p = panel;
  const int64_t units = p.n_runs * (p.run_length / kFetchSteps);
  int64_t r = 0, part = 0;
  const auto next = [&]() -> Fetch<T> {
    if (!stream.next || part >= kFetchSteps * kFetchParts<T>) return {reinterpret_cast<const T*>(kZeros), 0};
    const T* at = static_cast<const T*>(stream.next) + part / kFetchParts<T> * units * stream.next_step;
    return {at + part++ % kFetchParts<T> * kLine<T> * kFetchLines<T>, stream.next_step};
  };
  if (rows < R) {
    pack_rows(reinterpret_cast<const T*>(p.w), p.n_runs * p.run_length, p.w_step, stream.packed);
  } else {
    streamed_tile<V, T, NV, R, true>(p, 0, stream.packed, {});
    r = R;
  }
  p.w = stream.packed;
  p.w_step = kPanelColumns;
  while (r < rows) {
    const int64_t left = rows - r;
    const int64_t some = left >= R + (R + 1) / 2 || left == R ? R : left > R ? (left + 1) / 2 : left;
    last_streamed<V, T, NV, R>(p, r, some, next());
    r += some;
  }
}

}  // namespace

void run_panel(const Panel& p, int64_t rows) {
  if (!p.pairs) return run_panel_of<Lanes8, Lanes>(p, rows);
#ifdef __AMX_BF16__
  if (p.tiles) return run_tile_panel(p, rows);
#endif
#ifdef __AVX512BF16__
  if (has_pair_products()) return run_panel_of<PairProducts8, PairProducts>(p, rows);
#endif
  run_panel_of<Pairs<Lanes8>, Pairs<Lanes>>(p, rows);
}

void run_streamed(const Panel& p, const Stream& stream, int64_t rows) {
  constexpr int kVectors = Lanes::kLanes == 16 ? 4 : 2;
  if (stream.halves) return stream_rows<Lanes, uint16_t, kVectors, 6>(p, stream, rows);
  if (!p.pairs) return stream_rows<Lanes, float, kVectors, 6>(p, stream, rows);
#ifdef __AVX512BF16__
  if (has_pair_products()) return stream_rows<PairProducts, float, kVectors, 6>(p, stream, rows);
#endif
  stream_rows<Pairs<Lanes>, float, kVectors, 6>(p, stream, rows);
}

namespace {

// Rows [first, last) of the panel of `columns` columns that starts at b.
TENON_INLINE void pack_panel(const float* b, int64_t first, int64_t last, int64_t columns, int64_t ld, float* out) {
  const int64_t width = padded_columns(columns), whole = columns / 8 * 8;
  const i32x8 tail = lane_mask(columns - whole);
  float* to = out + first * width;
  for (int64_t i = first; i < last; ++i, to += width) {
    const float* from = b + i * ld;
    int64_t c = 0;
    for (; c < whole; c += 8) store8(to + c, load8(from + c));
    if (c < width) store8(to + c, load8_mask(from + c, tail)), c += 8;
    if (c < width) store8(to + c, f32x8{});
  }
}

}  // namespace

// A few rows of all panels after each other: memory is read in long stretches.
void pack_panels(const float* b, int64_t k, int64_t n, int64_t ld, int64_t depth, float* out) {
  constexpr int64_t kRows = 4;
  for (int64_t i = 0; i < k; i += kRows)
    for (int64_t j = 0, columns; j < n; j += columns) {
      columns = panel_columns(n - j);
      pack_panel(b + j, i, std::min(i + kRows, k), columns, ld, out + j * depth);
    }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
