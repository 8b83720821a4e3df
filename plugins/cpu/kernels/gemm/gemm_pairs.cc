#include "kernels/bf16.h"
#include "kernels/gemm/gemm_tile.h"
#include "kernels/pairs.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

TENON_INLINE void widen_words(const uint16_t* low, int64_t n, uint32_t* to) {
  for (int64_t j = 0; j < n; ++j) to[j] = low[j];
}

}  // namespace

#ifdef __AVX512BF16__
bool pair_products = false;
#endif

void widen_pairs(const uint16_t* from, int64_t n, uint32_t* to) {
  constexpr int64_t kWords = Lanes::kLanes / 2;
  typedef uint64_t Twins __attribute__((vector_size(sizeof(Lanes::Words))));
  // Takes two elements from the low halves of two words; returns the second, then the first, each in a high half.
  const auto turn = [](auto two) { return two << 48 | two >> 16; };
  int64_t i = 0;
  for (; i + kWords <= n; i += kWords) {
    const Twins twins = turn((Twins)Lanes::words(load_as<Halves<Lanes>>(from + 2 * i)));
    std::memcpy(to + 2 * i, &twins, sizeof twins);
  }
  for (; i < n; ++i) {
    const uint64_t twin = turn(from[2 * i] | static_cast<uint64_t>(from[2 * i + 1]) << 32);
    std::memcpy(to + 2 * i, &twin, sizeof twin);
  }
}

void pair_rows(const uint16_t* from, int64_t k, int64_t n, Slice words, uint32_t* to) {
  for (int64_t w = words.begin; w < words.end; ++w) {
    const uint16_t* const first = from + 2 * w * n;
    2 * w + 1 < k ? pair_words(first, first + n, n, to + w * n) : widen_words(first, n, to + w * n);
  }
}

void pair_panels(const uint16_t* low, const uint16_t* high, int64_t k, int64_t n, int64_t ld, int64_t depth,
                 float* out) {
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0, columns; j < n; j += columns) {
      columns = panel_columns(n - j);
      const int64_t width = padded_columns(columns), at = i * ld + j;
      uint32_t* const to = reinterpret_cast<uint32_t*>(out + j * depth + i * width);
      high ? pair_words(low + at, high + at, columns, to) : widen_words(low + at, columns, to);
      std::fill(to + columns, to + width, 0u);
    }
}

void pair_points(const uint16_t* low, const uint16_t* high, int64_t n, int64_t c, int64_t pitch, float* to) {
  if (pitch == c) c = pitch = n * c, n = 1;
  uint32_t* const words = reinterpret_cast<uint32_t*>(to);
  for (int64_t i = 0; i < n; ++i)
    high ? pair_words(low + i * c, high + i * c, c, words + i * pitch) : widen_words(low + i * c, c, words + i * pitch);
}

void pair_floats(const float* low, const float* high, int64_t n, float* to) {
  int64_t i = 0;
  for (; i + Lanes::kLanes <= n; i += Lanes::kLanes) {
    const Lanes::Words both = bf16_words<Lanes>(Lanes::load(low + i)) | bf16_words<Lanes>(Lanes::load(high + i)) << 16;
    std::memcpy(to + i, &both, sizeof both);
  }
  if (i == n) return;
  const Lanes::Mask rest = Lanes::first(n - i);
  const Lanes::Words both =
      bf16_words<Lanes>(Lanes::load(low + i, rest)) | bf16_words<Lanes>(Lanes::load(high + i, rest)) << 16;
  std::memcpy(to + i, &both, static_cast<size_t>(n - i) * 4);
}

void pair_columns(const uint16_t* from, int64_t k, Slice rows, uint32_t* to) {
  const int64_t words = (k + 1) / 2;
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    std::memcpy(to + r * words, from + r * k, static_cast<size_t>(k) * 2);
    if (k % 2 != 0) reinterpret_cast<uint16_t*>(to + r * words)[k] = 0;
  }
}

void widen_rows(const uint16_t* from, int64_t k, int64_t n, Slice words, uint32_t* to) {
  for (int64_t w = words.begin; w < words.end; ++w) {
    const uint16_t* const low = from + 2 * w * n;
    uint32_t* const first = to + 2 * w * n;
    if (2 * w + 1 < k)
      widen_halves(low + n, n, first);
    else
      std::fill_n(first, n, 0u);
    widen_halves(low, n, first + n);
  }
}

void widen_columns(const uint16_t* from, int64_t k, Slice rows, uint32_t* to) {
  const int64_t step = round_up(k, 2);
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    widen_pairs(from + r * k, k / 2, to + r * step);
    if (k % 2 == 0) continue;
    to[r * step + k - 1] = 0;
    to[r * step + k] = static_cast<uint32_t>(from[r * k + k - 1]) << 16;
  }
}

void widen_panels(const uint16_t* from, int64_t k, int64_t n, int64_t ld, int64_t depth, float* out) {
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0, columns; j < n; j += columns) {
      columns = panel_columns(n - j);
      const int64_t width = padded_columns(columns);
      uint32_t* const to = reinterpret_cast<uint32_t*>(out + j * depth + i * width);
      widen_halves(from + (i ^ 1) * ld + j, columns, to);
      std::fill(to + columns, to + width, 0u);
    }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
