#include "kernels/gemm_tile.h"

#include "kernels/activation.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Columns of a panel's last vector.
struct Tail {
  bool whole;
  i32x8 mask;
};

template <int NV>
TENON_INLINE f32x8 get(const float* from, int i, const Tail& tail) {
  return tail.whole || i + 1 < NV ? load8(from + 8 * i) : load8_mask(from + 8 * i, tail.mask);
}

// What a row's sums start from: C, the bias or zero.
template <int NV>
TENON_INLINE void start(const Panel& p, const Tail& tail, int64_t row, f32x8* acc) {
  const float* from = p.accumulate ? p.c + row : p.bias;
#pragma GCC unroll 3
  for (int i = 0; i < NV; ++i) acc[i] = from ? get<NV>(from, i, tail) : splat8(0);
}

template <int NV>
TENON_INLINE void finish(const Panel& p, const Tail& tail, int64_t row, f32x8* acc) {
  float* c = p.c + row;
  if (p.residual)
#pragma GCC unroll 3
    for (int i = 0; i < NV; ++i) acc[i] += get<NV>(p.residual + row, i, tail);
  if (p.act == TENON_ACT_RELU)
#pragma GCC unroll 3
    for (int i = 0; i < NV; ++i) acc[i] = relu8(acc[i]);
#pragma GCC unroll 3
  for (int i = 0; i + 1 < NV; ++i) store8(c + 8 * i, acc[i]);
  if (tail.whole)
    store8(c + 8 * (NV - 1), acc[NV - 1]);
  else
    store8_mask(c + 8 * (NV - 1), acc[NV - 1], tail.mask);
  if (__builtin_expect(p.act > TENON_ACT_RELU, 0)) act_loop(p.act)(c, c, p.columns, p.alpha);
}

// R rows x NV * 8 columns. Masked: the last vector of W may not be read past `columns`.
template <int NV, int R, bool Masked>
TENON_INLINE void tile(const Panel& p, const int64_t* a_rows, const int64_t* c_rows) {
  f32x8 acc[R][NV];
  const Tail tail{p.columns == NV * 8, lane_mask(p.columns - (NV - 1) * 8)};
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) start<NV>(p, tail, c_rows[r], acc[r]);
  const float* w = p.w;
  const int64_t length = p.run_length, a_step = p.a_step, w_step = p.w_step;
  for (int64_t i = 0; i < p.n_runs; ++i) {
    const float* a[R];
    const float* base = p.a + p.runs[i];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) a[r] = base + a_rows[r];
    const float* const end = w + length * w_step;
    int64_t at = 0;
#pragma GCC unroll 2
    for (; w != end; w += w_step, at += a_step) {
      f32x8 b[NV];
#pragma GCC unroll 3
      for (int v = 0; v < NV; ++v) b[v] = Masked && v == NV - 1 ? load8_mask(w + 8 * v, tail.mask) : load8(w + 8 * v);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const f32x8 x = splat8(a[r][at]);
#pragma GCC unroll 3
        for (int v = 0; v < NV; ++v) acc[r][v] += x * b[v];
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) finish<NV>(p, tail, c_rows[r], acc[r]);
}

template <int NV, int R, bool Masked>
__attribute__((noinline)) void rest(const Panel& p, const int64_t* a_rows, const int64_t* c_rows) {
  tile<NV, R, Masked>(p, a_rows, c_rows);
}

template <int NV, int R, bool Masked>
void last_rows(const Panel& p, const int64_t* a_rows, const int64_t* c_rows, int64_t left) {
  if constexpr (R > 0) {
    if (left == R) return rest<NV, R, Masked>(p, a_rows, c_rows);
    last_rows<NV, R - 1, Masked>(p, a_rows, c_rows, left);
  }
}

template <int NV, int R, bool Masked>
__attribute__((noinline)) void all_rows(const Panel& p, int64_t rows) {
  int64_t r = 0;
  for (; r + R <= rows; r += R) tile<NV, R, Masked>(p, p.a_rows + r, p.c_rows + r);
  if (r < rows) last_rows<NV, R - 1, Masked>(p, p.a_rows + r, p.c_rows + r, rows - r);
}

template <bool Masked>
void choose(const Panel& p, int64_t rows) {
  if (p.columns <= 8) return all_rows<1, 8, Masked>(p, rows);
  if (p.columns <= 16) return all_rows<2, 6, Masked>(p, rows);
  all_rows<3, 4, Masked>(p, rows);
}

// An 8 x 8 block.
TENON_INLINE void transpose8(const float* in, int64_t ld_in, float* out, int64_t ld_out) {
  f32x8 r[8], s[8];
  for (int i = 0; i < 8; ++i) r[i] = load8(in + i * ld_in);
  for (int i = 0; i < 8; i += 2) {
    s[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    s[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int i = 0; i < 8; i += 4)
    for (int j = 0; j < 2; ++j) {
      r[i + j] = __builtin_shufflevector(s[i + j], s[i + 2 + j], 0, 1, 8, 9, 4, 5, 12, 13);
      r[i + 2 + j] = __builtin_shufflevector(s[i + j], s[i + 2 + j], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  for (int i = 0; i < 4; ++i) {
    s[i] = __builtin_shufflevector(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    s[i + 4] = __builtin_shufflevector(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (int i = 0; i < 8; ++i) store8(out + i * ld_out, s[i]);
}

}  // namespace

void run_panel(const Panel& p, int64_t rows) {
  if (p.w_padded || p.columns % 8 == 0) return choose<false>(p, rows);
  choose<true>(p, rows);
}

void pack_panels(const float* b, int64_t k, int64_t n, int64_t ld, int64_t depth, float* out) {
  for (int64_t j = 0; j < n;) {
    const int64_t columns = panel_columns(n - j), width = padded_columns(columns);
    float* to = out + j * depth;
    const i32x8 tail = lane_mask(columns - width + 8);
    for (int64_t i = 0; i < k; ++i, to += width) {
      const float* from = b + i * ld + j;
      int64_t c = 0;
      for (; c + 8 < width; c += 8) store8(to + c, load8(from + c));
      store8(to + c, load8_mask(from + c, tail));
    }
    j += columns;
  }
}

void transpose(const float* in, int64_t rows, int64_t columns, int64_t ld_in, float* out, int64_t ld_out) {
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8) {
    int64_t c = 0;
    for (; c + 8 <= columns; c += 8) transpose8(in + r * ld_in + c, ld_in, out + c * ld_out + r, ld_out);
    for (; c < columns; ++c)
      for (int i = 0; i < 8; ++i) out[c * ld_out + r + i] = in[(r + i) * ld_in + c];
  }
  for (; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) out[c * ld_out + r] = in[r * ld_in + c];
}

}  // namespace tenon::cpu::TENON_CPU_ISA
