#include "kernels/gemm/gemm_slab_tile.h"

#include "kernels/gemm/gemm_tile_ends.h"
#include "kernels/pairs.h"

namespace tenon::cpu::TENON_CPU_ISA {

#ifdef __AVX512F__
namespace {

template <class V, int NV, int R>
__attribute__((noinline)) void slab_tile(const Panel& p, const int64_t* c_rows, const SlabFetch& fetch) {
  typename V::Vector acc[R][NV];
  const Tail<V> tail(p.columns - (NV - 1) * V::kLanes);
  const Clip clip = Clip::of(p.act);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) start<V, NV, false>(p, tail, c_rows[r], acc[r]);
  const float *a = p.a, *w = p.w;
  const auto step = [&](const float* at, const float* from) __attribute__((always_inline)) {
    typename V::Vector b[NV];
#pragma GCC unroll 2
    for (int v = 0; v < NV; ++v) b[v] = V::load(from + V::kLanes * v);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const typename V::Vector x = V::splat(at[r]);
#pragma GCC unroll 2
      for (int v = 0; v < NV; ++v) acc[r][v] = V::add_product(acc[r][v], x, b[v]);
    }
  };
  const float *const *line = fetch.lines, *const *const end = line + fetch.count;
  int64_t k = 0;
  for (; k + 4 <= p.run_length; k += 4, a += 4 * kSlabRows, w += 4 * NV * V::kLanes) {
    if (line < end) {
      __builtin_prefetch(line[0]);
      __builtin_prefetch(line[1]);
      line += 2;
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      step(a + i * kSlabRows, w + i * NV * V::kLanes);
      asm volatile("" ::: "memory");  // loads drawn together would spill sums
    }
  }
  for (; k < p.run_length; ++k, a += kSlabRows, w += NV * V::kLanes) step(a, w);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) finish<V, NV, false>(p, tail, c_rows[r], clip, acc[r]);
  activate<R>(p, c_rows);
}

template <class V, int NV, int R>
void some_rows(const Panel& p, const int64_t* c_rows, int64_t rows, const SlabFetch& fetch) {
  if constexpr (R > 0) {
    if (rows == R) return slab_tile<V, NV, R>(p, c_rows, fetch);
    some_rows<V, NV, R - 1>(p, c_rows, rows, fetch);
  }
}

template <class V>
void run_slab_tile_of(const Panel& p, const int64_t* c_rows, int64_t rows, const SlabFetch& fetch) {
  if (p.columns <= V::kLanes) return some_rows<V, 1, kSlabRows>(p, c_rows, rows, fetch);
  some_rows<V, 2, kSlabRows>(p, c_rows, rows, fetch);
}

}  // namespace

void run_slab_tile(const Panel& p, const int64_t* c_rows, int64_t rows, const SlabFetch& fetch) {
  if (!p.pairs) return run_slab_tile_of<Lanes>(p, c_rows, rows, fetch);
#ifdef __AVX512BF16__
  if (has_pair_products()) return run_slab_tile_of<PairProducts>(p, c_rows, rows, fetch);
#endif
  run_slab_tile_of<Pairs<Lanes>>(p, c_rows, rows, fetch);
}
#else
void run_slab_tile(const Panel&, const int64_t*, int64_t, const SlabFetch&) {}
#endif

}  // namespace tenon::cpu::TENON_CPU_ISA
