// Products of fewer rows than a tile has, and a large matrix, which is read once in long stretches; sums wait in C.
#include <algorithm>

#include "kernels/bf16.h"
#include "kernels/element/activation.h"
#include "kernels/gemm/gemm.h"
#include "kernels/stored.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kStretch = 512;  // columns: the sums of five rows stay next to the core
constexpr int64_t kTogether = 4;   // rows of B, so that sums are loaded once for all of them

template <class T>
struct FewRows {
  const float* a[Gemm::kFewestRows];
  float* c[Gemm::kFewestRows];
  const T* b;
  int64_t ld, columns;  // of B

  // Row k: of halves the second of two comes first.
  const T* row(int64_t k) const { return b + (sizeof(T) == 2 ? k ^ 1 : k) * ld; }
};

TENON_INLINE Lanes::Vector some(const float* p, int64_t n) { return load_stored(p, n); }
TENON_INLINE Lanes::Vector some(const uint16_t* p, int64_t n) { return row<Lanes>(p, 0, n, 0); }
TENON_INLINE Lanes::Vector all(const float* p) { return Lanes::load(p); }
TENON_INLINE Lanes::Vector all(const uint16_t* p) { return widen_bf16<Lanes>(load_as<Halves<Lanes>>(p)); }

// c[r][j] += sum of a[r][k] b[k][j] over D rows of B, in order. Whole vectors and the last columns are apart: a compiler that
// shares a product between two ways on does not fuse it with its sum, which has other bits then.
template <int R, int D, class T>
TENON_INLINE void add_some(const FewRows<T>& f, int64_t k) {
  using V = Lanes;
  V::Vector x[R][D];
  for (int r = 0; r < R; ++r)
    for (int i = 0; i < D; ++i) x[r][i] = V::splat(f.a[r][k + i]);
  int64_t j = 0;
  const auto add = [&](auto load, auto store) __attribute__((always_inline)) {
    V::Vector rows[D];
    for (int i = 0; i < D; ++i) rows[i] = load(f.row(k + i) + j);
    for (int r = 0; r < R; ++r) {
      V::Vector sum = load(f.c[r] + j);
      for (int i = 0; i < D; ++i) sum = V::add_product(sum, x[r][i], rows[i]);
      store(f.c[r] + j, sum);
    }
  };
  for (; j + V::kLanes <= f.columns; j += V::kLanes)
    add([](const auto* p) { return all(p); }, [](float* p, V::Vector v) { V::store(p, v); });
  if (j == f.columns) return;
  const int64_t left = f.columns - j;
  add([&](const auto* p) { return some(p, left); }, [&](float* p, V::Vector v) { V::store_part(p, v, left); });
}

template <int R, class T>
void add_all(const FewRows<T>& f, int64_t depth) {
  int64_t k = 0;
  for (; k + kTogether <= depth; k += kTogether) add_some<R, kTogether>(f, k);
  for (; k < depth; ++k) add_some<R, 1>(f, k);
}

template <class T>
void add_all(const FewRows<T>& f, int64_t rows, int64_t depth) {
  switch (rows) {
    case 1:
      return add_all<1>(f, depth);
    case 2:
      return add_all<2>(f, depth);
    case 3:
      return add_all<3>(f, depth);
    case 4:
      return add_all<4>(f, depth);
    default:
      return add_all<5>(f, depth);
  }
}

}  // namespace

template <class T>
void Gemm::few_rows(const GemmData& d, const Block& block) const {
  const int64_t end = block.column + block.columns;
  for (int64_t j = block.column; j < end; j += kStretch) {
    FewRows<T> f{{}, {}, static_cast<const T*>(b_at(d.b, block.k, j)), s_.n, std::min(kStretch, end - j)};
    for (int64_t r = 0; r < block.rows; ++r) {
      f.a[r] = d.a + a_rows_[static_cast<size_t>(block.row + r)] + block.k;
      f.c[r] = d.c + (block.row + r) * s_.n + j;
      if (d.bias)
        std::copy_n(d.bias + j, f.columns, f.c[r]);
      else
        std::fill_n(f.c[r], f.columns, 0.0f);
    }
    add_all(f, block.rows, block.depth);
    for (int64_t r = 0; r < block.rows && !block.partial; ++r) {
      float* const c = f.c[r];
      if (d.norm.scale)
        for (int64_t i = 0; i < f.columns; ++i) c[i] = d.norm.of(j + i, c[i]);
      if (d.residual)
        for (int64_t i = 0; i < f.columns; ++i) c[i] += d.residual[(block.row + r) * s_.n + j + i];
      if (s_.act != TENON_ACT_NONE) act_loop(s_.act)(c, c, f.columns, s_.alpha);
    }
  }
}

template void Gemm::few_rows<float>(const GemmData& d, const Block& block) const;
template void Gemm::few_rows<uint16_t>(const GemmData& d, const Block& block) const;

}  // namespace tenon::cpu::TENON_CPU_ISA
