#include <algorithm>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/movement/strided_copy.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kTurnTile = 32;  // two tiles of 8-byte elements stay in L1

template <class T>
void copy_row(const T* src, int64_t in, T* dst, int64_t out, int64_t n) {
  if (out == 1 && in == 1) {
    if (n * sizeof(T) >= 128) {
      std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(T));
    } else {
      for (int64_t i = 0; i < n; ++i) dst[i] = src[i];
    }
  } else if (out == 1 && in == 0) {
    std::fill_n(dst, n, *src);
  } else if (out == 1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = src[i * in];
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * out] = src[i * in];
  }
}

#if defined(__AVX2__)
// dst[j][i] = src[i][j], 8 x 8.
inline void transpose8x8(const uint32_t* src, int64_t in, uint32_t* dst, int64_t out) {
  __m256 r[8], t[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(reinterpret_cast<const float*>(src + i * in));
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  for (int h = 0; h < 2; ++h) {
    r[4 * h + 0] = _mm256_shuffle_ps(t[4 * h], t[4 * h + 2], 0x44);
    r[4 * h + 1] = _mm256_shuffle_ps(t[4 * h], t[4 * h + 2], 0xEE);
    r[4 * h + 2] = _mm256_shuffle_ps(t[4 * h + 1], t[4 * h + 3], 0x44);
    r[4 * h + 3] = _mm256_shuffle_ps(t[4 * h + 1], t[4 * h + 3], 0xEE);
  }
  for (int i = 0; i < 4; ++i) {
    float* lo = reinterpret_cast<float*>(dst + i * out);
    float* hi = reinterpret_cast<float*>(dst + (i + 4) * out);
    _mm256_storeu_ps(lo, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(hi, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}
#endif

// dst[a * out + j] = src[a + j * in] for a < na, j < nj.
template <class T>
void transpose_tile(const T* src, int64_t in, T* dst, int64_t out, int64_t na, int64_t nj) {
#if defined(__AVX2__)
  if constexpr (sizeof(T) == 4) {
    if (na == kTurnTile && nj == kTurnTile) {
      for (int64_t a = 0; a < kTurnTile; a += 8)
        for (int64_t j = 0; j < kTurnTile; j += 8) transpose8x8(src + a + j * in, in, dst + a * out + j, out);
      return;
    }
  }
#endif
  for (int64_t a = 0; a < na; ++a)
    for (int64_t j = 0; j < nj; ++j) dst[a * out + j] = src[a + j * in];
}

}  // namespace

int64_t StridedCopy::elements() const {
  int64_t n = 1;
  for (int i = 0; i < rank; ++i) n *= dims[i];
  return n;
}

void StridedCopy::plan() {
  int kept = 0;
  for (int i = 0; i < rank; ++i) {
    if (dims[i] == 1) continue;
    const int last = kept - 1;
    if (kept && in[last] == in[i] * dims[i] && out[last] == out[i] * dims[i]) {
      dims[last] *= dims[i], in[last] = in[i], out[last] = out[i];
    } else {
      dims[kept] = dims[i], in[kept] = in[i], out[kept] = out[i];
      ++kept;
    }
  }
  rank = kept;
  if (rank == 0) push(1, 1, 1);
  const int last = rank - 1;
  if (rank < 2 || out[last] != 1 || in[last] == 1 || in[last] == 0) return;
  for (int i = 0; i < last; ++i) {
    if (in[i] != 1) continue;
    std::rotate(dims + i, dims + i + 1, dims + last);
    std::rotate(in + i, in + i + 1, in + last);
    std::rotate(out + i, out + i + 1, out + last);
    tiled_ = true;
    return;
  }
}

template <class T>
void StridedCopy::run_rows(const Call& call, const T* src, T* dst) const {
  const int64_t n = dims[rank - 1], si = in[rank - 1], so = out[rank - 1];
  const int64_t rows = elements() / n;
  if (rows < 8 * call.count && n >= 4096) {  // few long rows: cut each
    const Slice s = call.share(n, 64);
    Odometer at(*this, rank - 1, 0);
    for (int64_t r = 0; r < rows; ++r, at.next())
      copy_row(src + at.in + s.begin * si, si, dst + at.out + s.begin * so, so, s.end - s.begin);
    return;
  }
  const Slice s = call.share(rows);
  Odometer at(*this, rank - 1, s.begin);
  for (int64_t r = s.begin; r < s.end; ++r, at.next()) copy_row(src + at.in, si, dst + at.out, so, n);
}

template <class T>
void StridedCopy::run_tiles(const Call& call, const T* src, T* dst) const {
  const int64_t na = dims[rank - 2], nj = dims[rank - 1], sj = in[rank - 1], oa = out[rank - 2];
  const int64_t ta = (na + kTurnTile - 1) / kTurnTile, outer = elements() / na / nj;
  const Slice s = call.share(outer * ta);
  if (s.begin == s.end) return;
  Odometer at(*this, rank - 2, s.begin / ta);
  for (int64_t t = s.begin, k = s.begin % ta; t < s.end; ++t) {
    const int64_t a = k * kTurnTile;
    for (int64_t j = 0; j < nj; j += kTurnTile)
      transpose_tile(src + at.in + a + j * sj, sj, dst + at.out + a * oa + j, oa, std::min(kTurnTile, na - a),
                     std::min(kTurnTile, nj - j));
    if (++k == ta) k = 0, at.next();
  }
}

void StridedCopy::run(const Call& call, int64_t element_bytes, const void* src, void* dst) const {
  const auto typed = [&](auto zero) {
    using T = decltype(zero);
    const T* s = static_cast<const T*>(src);
    T* d = static_cast<T*>(dst);
    tiled_ ? run_tiles(call, s, d) : run_rows(call, s, d);
  };
  switch (element_bytes) {
    case 1:
      return typed(uint8_t{});
    case 2:
      return typed(uint16_t{});
    case 4:
      return typed(uint32_t{});
    default:
      return typed(uint64_t{});
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
