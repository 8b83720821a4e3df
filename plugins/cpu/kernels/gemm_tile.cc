#include "kernels/gemm_tile.h"

#include "kernels/activation.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Columns of a panel's last vector.
struct Tail {
  explicit TENON_INLINE Tail(int64_t n) : columns(n), whole(n == 8), mask(lane_mask(n)) {}
  int64_t columns;
  bool whole;
  i32x8 mask;
};

template <int NV>
TENON_INLINE f32x8 get(const float* from, int i, const Tail& tail) {
  return tail.whole || i + 1 < NV ? load8(from + 8 * i) : load8_mask(from + 8 * i, tail.mask);
}

alignas(32) constexpr float kZeros[24] = {};

// What a row's sums start from: C, the bias or zero. Plain: whole vectors, new sums and nothing after
// them but a ReLU, so that the tile has no branches.
template <int NV, bool Plain>
TENON_INLINE void start(const Panel& p, const Tail& tail, int64_t row, f32x8* acc) {
  const float* from = p.bias ? p.bias : kZeros;
  if (!Plain && p.accumulate) from = p.c + row;
#pragma GCC unroll 3
  for (int i = 0; i < NV; ++i) acc[i] = Plain ? load8(from + 8 * i) : get<NV>(from, i, tail);
}

template <int NV, bool Plain>
TENON_INLINE void finish(const Panel& p, const Tail& tail, int64_t row, float floor, f32x8* acc) {
  float* c = p.c + row;
  if (!Plain && p.residual)
#pragma GCC unroll 3
    for (int i = 0; i < NV; ++i) acc[i] += get<NV>(p.residual + row, i, tail);
#pragma GCC unroll 3
  for (int i = 0; i < NV; ++i) acc[i] = max8(splat8(floor), acc[i]);  // NaN stays
#pragma GCC unroll 3
  for (int i = 0; i + 1 < NV; ++i) store8(c + 8 * i, acc[i]);
  if (Plain)
    store8(c + 8 * (NV - 1), acc[NV - 1]);
  else
    store8_part(c + 8 * (NV - 1), acc[NV - 1], tail.columns);
  if (!Plain && __builtin_expect(p.act > TENON_ACT_RELU, 0)) act_loop(p.act)(c, c, p.columns, p.alpha);
}

// R rows x NV * 8 columns. Masked: the last vector of W may not be read past `columns`. kLength: of a
// run, with steps as packed, so that short runs unroll; 0: any.
template <int NV, int R, bool Masked, bool Plain = false, int kLength = 0>
TENON_INLINE void tile(const Panel& p, const int64_t* a_rows, const int64_t* c_rows) {
  f32x8 acc[R][NV];
  const Tail tail(p.columns - (NV - 1) * 8);
  const float floor = p.act == TENON_ACT_RELU ? 0 : -__builtin_inff();
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) start<NV, Plain>(p, tail, c_rows[r], acc[r]);
  const float* w = p.w;
  const int64_t length = kLength > 0 ? kLength : p.run_length;
  const int64_t a_step = kLength > 0 ? 1 : p.a_step, w_step = kLength > 0 ? NV * 8 : p.w_step;
  for (int64_t i = 0; i < p.n_runs; ++i) {
    const float* a[R];
    const float* base = p.a + p.runs[i];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) a[r] = base + a_rows[r];
    const auto step = [&](int64_t at, const float* from) __attribute__((always_inline)) {
      f32x8 b[NV];
#pragma GCC unroll 3
      for (int v = 0; v < NV; ++v)
        b[v] = Masked && v == NV - 1 ? load8_mask(from + 8 * v, tail.mask) : load8(from + 8 * v);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const f32x8 x = splat8(a[r][at]);
#pragma GCC unroll 3
        for (int v = 0; v < NV; ++v) acc[r][v] += x * b[v];
      }
    };
    if constexpr (kLength > 0) {
#pragma GCC unroll 16
      for (int k = 0; k < kLength; ++k) {
        step(k, w + k * NV * 8);
        asm volatile("" ::: "memory");  // loads drawn together would spill sums
      }
      w += kLength * NV * 8;
    } else {
      const float* const end = w + length * w_step;
      int64_t at = 0;
#pragma GCC unroll 2
      for (; w != end; w += w_step, at += a_step) step(at, w);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) finish<NV, Plain>(p, tail, c_rows[r], floor, acc[r]);
}

template <int NV, int R, bool Masked>
__attribute__((noinline)) void some_rows(const Panel& p, int64_t first) {
  tile<NV, R, Masked>(p, p.a_rows + first, p.c_rows + first);
}

template <int NV, int R, bool Masked>
void last_rows(const Panel& p, int64_t first, int64_t count) {
  if constexpr (R > 0) {
    if (count == R) return some_rows<NV, R, Masked>(p, first);
    last_rows<NV, R - 1, Masked>(p, first, count);
  }
}

template <int NV, int R, bool Masked, bool Plain = false, int kLength = 0>
__attribute__((noinline)) void whole_tiles(const Panel& p, int64_t rows) {
  for (int64_t r = 0; r + R <= rows; r += R) tile<NV, R, Masked, Plain, kLength>(p, p.a_rows + r, p.c_rows + r);
}

void plain_tiles(const Panel& p, int64_t rows) {
  const bool packed = p.a_step == 1 && p.w_step == 16;
  if (packed && p.run_length == 3) return whole_tiles<2, 6, false, true, 3>(p, rows);
  if (packed && p.run_length == 5) return whole_tiles<2, 6, false, true, 5>(p, rows);
  if (packed && p.run_length == 9) return whole_tiles<2, 6, false, true, 9>(p, rows);
  whole_tiles<2, 6, false, true>(p, rows);
}

// A few rows alone wait for each other's sums: the last two tiles share what is left evenly.
template <int NV, int R, bool Masked>
void all_rows(const Panel& p, int64_t rows) {
  int64_t whole = rows / R * R, left = rows - whole;
  if (left > 0 && left <= R / 2 && whole > 0) whole -= R, left += R;
  const bool plain = NV == 2 && p.columns == 16 && !p.accumulate && !p.residual && p.act <= TENON_ACT_RELU;
  if (plain)
    plain_tiles(p, whole);
  else
    whole_tiles<NV, R, Masked>(p, whole);
  if (left > R) {
    last_rows<NV, R, Masked>(p, whole, (left + 1) / 2);
    whole += (left + 1) / 2;
    left /= 2;
  }
  if (left > 0) last_rows<NV, R, Masked>(p, whole, left);
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
