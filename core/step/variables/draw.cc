#include "step/variables/draw.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/crc32c.h"
#include "data/random_bits.h"

#define TENON_INLINE inline __attribute__((always_inline))

namespace tenon {
namespace {

constexpr size_t kBlock = 256;  // counters at a time

// Philox4x32-10 as in data/random_bits.h, of kBlock counters that follow each other: loops that compilers turn into vectors.
struct Words {
  uint32_t of[4][kBlock];

  TENON_INLINE void draw(uint64_t key, uint32_t stream, uint64_t attempt, uint64_t first) {
    for (size_t i = 0; i < kBlock; ++i) {
      of[0][i] = static_cast<uint32_t>(first) + static_cast<uint32_t>(i);
      of[1][i] = static_cast<uint32_t>(attempt);
      of[2][i] = static_cast<uint32_t>(attempt >> 32);
      of[3][i] = stream;
    }
    uint32_t key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round, key0 += 0x9E3779B9u, key1 += 0xBB67AE85u)
      for (size_t i = 0; i < kBlock; ++i) {
        const uint64_t a = uint64_t{0xD2511F53u} * of[0][i], b = uint64_t{0xCD9E8D57u} * of[2][i];
        of[0][i] = static_cast<uint32_t>(b >> 32) ^ of[1][i] ^ key0;
        of[2][i] = static_cast<uint32_t>(a >> 32) ^ of[3][i] ^ key1;
        of[1][i] = static_cast<uint32_t>(b);
        of[3][i] = static_cast<uint32_t>(a);
      }
  }
};

// [0, 1), of the 53 highest of 64 bits.
TENON_INLINE double unit(uint32_t low, uint32_t high) {
  const double top = static_cast<double>(static_cast<int32_t>(high ^ 0x80000000u)) + 0x1p31;
  return (top * 0x1p21 + static_cast<double>(static_cast<int32_t>(low >> 11))) * 0x1p-53;
}

template <class... C>
TENON_INLINE double polynomial(double, double c) {
  return c;
}
template <class... C>
TENON_INLINE double polynomial(double x, double c, C... rest) {
  return polynomial(x, rest...) * x + c;
}

// log x, x in [2^-53, 1]: 2^e m with m in [sqrt 1/2, sqrt 2), and 2 atanh((m - 1) / (m + 1)) by its series.
TENON_INLINE double log_of(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint64_t biased = (bits + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu)) >> 52;
  const double e = std::bit_cast<double>(biased | 0x4330000000000000u) - (0x1p52 + 1023);
  const double m = std::bit_cast<double>(bits - (biased << 52) + 0x3ff0000000000000u);
  const double s = (m - 1) / (m + 1), z = s * s;
  const double series = polynomial(z, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17,
                                   1.0 / 19, 1.0 / 21, 1.0 / 23);
  return e * std::numbers::ln2 + 2 * (s + s * (z * series));
}

// cos(2 pi x), x in [0, 1): by quarters of a turn, whose rest is exact.
TENON_INLINE double cos_of_turns(double x) {
  constexpr double kRound = 0x1.8p52;
  const double shifted = 4 * x + kRound;
  const uint64_t quarter = std::bit_cast<uint64_t>(shifted);
  const double a = (x - 0.25 * (shifted - kRound)) * (2 * std::numbers::pi), z = a * a;
  const double cosine = polynomial(z, 1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600,
                                   -1.0 / 87178291200, 1.0 / 20922789888000);
  const double sine = a * polynomial(z, 1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800,
                                     1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000);
  const double y = quarter & 1 ? sine : cosine;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(y) ^ ((quarter + 1) & 2) << 62);
}

struct Request {
  uint64_t key;
  uint32_t stream;
  uint64_t attempt, first;  // the first counter
};

// Two numbers of each counter.
TENON_INLINE void draw_uniforms(const Request& r, double (&out)[2 * kBlock]) {
  Words w;
  w.draw(r.key, r.stream, r.attempt, r.first);
  for (size_t i = 0; i < kBlock; ++i) {
    out[2 * i] = unit(w.of[0][i], w.of[1][i]);
    out[2 * i + 1] = unit(w.of[2][i], w.of[3][i]);
  }
}
// By Box and Muller, of the words of one counter.
TENON_INLINE double normal_of(uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3) {
  return std::sqrt(-2 * log_of(1 - unit(w0, w1))) * cos_of_turns(unit(w2, w3));
}
// One of each counter, in the first half.
TENON_INLINE void draw_normals(const Request& r, double (&out)[2 * kBlock]) {
  Words w;
  w.draw(r.key, r.stream, r.attempt, r.first);
  for (size_t i = 0; i < kBlock; ++i) out[i] = normal_of(w.of[0][i], w.of[1][i], w.of[2][i], w.of[3][i]);
}

using Block = void (*)(const Request&, double (&)[2 * kBlock]);
struct Blocks {
  Block uniforms, normals;
};
void plain_uniforms(const Request& r, double (&out)[2 * kBlock]) { draw_uniforms(r, out); }
void plain_normals(const Request& r, double (&out)[2 * kBlock]) { draw_normals(r, out); }
#ifdef __x86_64__
__attribute__((target("avx2"))) void wide_uniforms(const Request& r, double (&out)[2 * kBlock]) {
  draw_uniforms(r, out);
}
__attribute__((target("avx2"))) void wide_normals(const Request& r, double (&out)[2 * kBlock]) { draw_normals(r, out); }
#endif

Blocks blocks() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) return {wide_uniforms, wide_normals};
#endif
  return {plain_uniforms, plain_normals};
}

// out[i] = number i of the block `draw` gives, from the block that begins with counter `first` on.
void fill(Block draw, size_t numbers, Request r, std::span<double> out) {
  double some[2 * kBlock];
  for (size_t i = 0; i < out.size(); i += numbers, r.first += kBlock) {
    draw(r, some);
    std::copy_n(some, std::min(numbers, out.size() - i), out.data() + i);
  }
}

}  // namespace

Draw::Draw(uint64_t seed, std::string_view variable) : seed_(seed), stream_(crc32c(variable)) {}

void Draw::uniforms(uint64_t first, std::span<double> out) const {
  fill(blocks().uniforms, 2 * kBlock, {seed_, stream_, 0, first / 2}, out);
}

void Draw::normals(uint64_t first, std::span<double> out) const {
  fill(blocks().normals, kBlock, {seed_, stream_, 0, first}, out);
}

void Draw::truncated_normals(uint64_t first, std::span<double> out) const {
  normals(first, out);
  for (size_t i = 0; i < out.size(); ++i)
    for (uint64_t attempt = 1; std::fabs(out[i]) >= 2; ++attempt) {
      const auto w = philox(seed_, static_cast<uint32_t>(first + i), static_cast<uint32_t>(attempt),
                            static_cast<uint32_t>(attempt >> 32), stream_);
      out[i] = normal_of(w[0], w[1], w[2], w[3]);
    }
}

}  // namespace tenon
