#include "kernels/conv/winograd/conv_winograd_products.h"

#include "kernels/simd.h"

namespace tenon::cpu::TENON_CPU_ISA {

#ifdef __AVX512F__
namespace {

// R rows, at kRow floats from each other, and NV vectors of columns; sums in registers.
template <int NV, int R, int kRow>
TENON_INLINE void plane_tile(const PlaneProduct& p, const float* a, float* c) {
  using V = Lanes16;
  V::Vector acc[R][NV];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) acc[r][v] = p.accumulate ? V::load(c + r * p.c_row + 16 * v) : V::Vector{};
  const float* w = p.w;
  const int64_t a_step = kRow == 1 ? p.a_step : 1, w_step = p.w_step;
  const auto step = [&](const float* at, const float* from) __attribute__((always_inline)) {
    V::Vector b[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) b[v] = V::load(from + 16 * v);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const V::Vector x = V::splat(at[r * kRow]);
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) acc[r][v] += x * b[v];
    }
  };
  int64_t k = 0;
  for (; k + 4 <= p.depth; k += 4, a += 4 * a_step, w += 4 * w_step)
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      step(a + i * a_step, w + i * w_step);
      asm volatile("" ::: "memory");  // loads drawn together would spill sums
    }
  for (; k < p.depth; ++k, a += a_step, w += w_step) step(a, w);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) V::store(c + r * p.c_row + 16 * v, acc[r][v]);
}

template <int NV, int R, int kRow>
__attribute__((noinline)) void plane_tiles(const PlaneProduct& p, int64_t first, int64_t end) {
  for (int64_t r = first; r < end; r += R) plane_tile<NV, R, kRow>(p, p.a + r * kRow, p.c + r * p.c_row);
}

template <int NV, int R, int kRow>
void plane_rows(const PlaneProduct& p) {
  const int64_t whole = p.rows / R * R;
  plane_tiles<NV, R, kRow>(p, 0, whole);
  const int64_t fours = whole + (p.rows - whole) / 4 * 4;
  plane_tiles<NV, 4, kRow>(p, whole, fours);
  plane_tiles<NV, 1, kRow>(p, fours, p.rows);
}

template <int kRow>
void plane_columns(const PlaneProduct& p) {
  // Channels come in sixteens, tiles in sixes.
  if (p.columns == 16) return plane_rows<1, kRow == 1 ? 16 : 12, kRow>(p);
  if (p.columns == 32) return plane_rows<2, kRow == 1 ? 8 : 12, kRow>(p);
  if (p.columns == 48) return plane_rows<3, 8, kRow>(p);
  plane_rows<4, 6, kRow>(p);
}

}  // namespace

bool has_plane_kernel(const PlaneProduct& p) {
  const bool row =
      p.a_row == 1 || (p.a_step == 1 && (p.a_row == 16 || p.a_row == 32 || p.a_row == 64 || p.a_row == 128));
  return row && p.columns % 16 == 0 && p.columns <= 64;
}

void multiply_plane(const PlaneProduct& p) {
  switch (p.a_row) {
    case 1:
      return plane_columns<1>(p);
    case 16:
      return plane_columns<16>(p);
    case 32:
      return plane_columns<32>(p);
    case 64:
      return plane_columns<64>(p);
    default:
      plane_columns<128>(p);
  }
}
#else
bool has_plane_kernel(const PlaneProduct&) { return false; }
void multiply_plane(const PlaneProduct&) {}
#endif

}  // namespace tenon::cpu::TENON_CPU_ISA
