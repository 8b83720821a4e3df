// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), a counter in each 64-bit lane.
#pragma once

#include <cstring>

#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace tenon::cpu::TENON_CPU_ISA {

typedef uint64_t u64x4 __attribute__((vector_size(32)));

// The product of the low 32 bits of each lane.
TENON_INLINE u64x4 multiply_low(u64x4 a, u64x4 b) {
#if defined(__AVX2__)
  typedef long long i64x4_ __attribute__((vector_size(32)));
  return (u64x4)(i64x4_)__builtin_ia32_pmuludq256((i32x8)a, (i32x8)b);
#elif defined(__SSE2__)
  typedef int32_t i32x4_ __attribute__((vector_size(16)));
  typedef uint64_t u64x2_ __attribute__((vector_size(16)));
  const auto half = [](u64x2_ x, u64x2_ y) { return (u64x2_)__builtin_ia32_pmuludq128((i32x4_)x, (i32x4_)y); };
  const u64x2_ low = half(__builtin_shufflevector(a, a, 0, 1), __builtin_shufflevector(b, b, 0, 1));
  const u64x2_ high = half(__builtin_shufflevector(a, a, 2, 3), __builtin_shufflevector(b, b, 2, 3));
  return __builtin_shufflevector(low, high, 0, 1, 2, 3);
#else
  return (a & 0xffffffff) * (b & 0xffffffff);
#endif
}

#ifdef __AVX512F__
typedef uint64_t u64x8 __attribute__((vector_size(64)));
TENON_INLINE u64x8 multiply_low(u64x8 a, u64x8 b) {
  typedef int32_t i32x16_ __attribute__((vector_size(64)));
  typedef long long i64x8_ __attribute__((vector_size(64)));
  return (u64x8)__builtin_ia32_pmuludq512_mask((i32x16_)a, (i32x16_)b, i64x8_{}, static_cast<uint8_t>(-1));
}
using Counters = u64x8;
#else
using Counters = u64x4;
#endif
// The high half of each lane in its low half. Not a shift: those have one port less than shuffles where products are busy.
TENON_INLINE Counters high_halves(Counters c) {
  using Words = Lanes::Words;
#ifdef __AVX512F__
  return (Counters)__builtin_shufflevector((Words)c, (Words)c, 1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15);
#else
  return (Counters)__builtin_shufflevector((Words)c, (Words)c, 1, 1, 3, 3, 5, 5, 7, 7);
#endif
}

// Words of the counter in the low halves of lanes; the high halves are arbitrary throughout.
struct PhiloxState {
  Counters c0, c1, c2, c3;
};

constexpr int kPhiloxRounds = 10;
// The two words of the key in each round, in the low halves.
struct PhiloxKeys {
  uint64_t of[kPhiloxRounds][2];
  PhiloxKeys(uint32_t key0, uint32_t key1) {
    for (auto& round : of) {
      round[0] = key0, round[1] = key1;
      key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
    }
  }
};

// kWays independent states side by side, to hide the latency of the products.
template <int kWays>
TENON_INLINE void philox(PhiloxState (&c)[kWays], const PhiloxKeys& keys) {
  const Counters m0 = Counters{} + 0xD2511F53u, m1 = Counters{} + 0xCD9E8D57u;
#pragma GCC unroll 10
  for (const auto& key : keys.of) {
#pragma GCC unroll 4
    for (int w = 0; w < kWays; ++w) {
      const Counters p0 = multiply_low(c[w].c0, m0), p1 = multiply_low(c[w].c2, m1);
      c[w] = {high_halves(p1) ^ c[w].c1 ^ key[0], p1, high_halves(p0) ^ c[w].c3 ^ key[1], p0};
    }
  }
}

// What every draw of one node in one step shares. `before` words belong to replicas before this device's.
struct RandomStream {
  uint32_t stream, step_low, step_high;
  uint32_t first, shift;  // of word 0: its counter, and its place there
  PhiloxKeys keys;
  RandomStream(int64_t seed, int64_t step, uint32_t id, uint64_t before)
      : stream(id),
        step_low(static_cast<uint32_t>(step)),
        step_high(static_cast<uint32_t>(static_cast<uint64_t>(step) >> 32)),
        first(static_cast<uint32_t>(before >> 2)),
        shift(static_cast<uint32_t>(before & 3)),
        keys(static_cast<uint32_t>(seed), static_cast<uint32_t>(static_cast<uint64_t>(seed) >> 32)) {}

  // Words [4 counter, 4 counter + kDraws), in order.
  static constexpr int64_t kDraws = 4 * Lanes::kLanes;
  TENON_INLINE void draw(uint32_t counter, Lanes::Words (&words)[4]) const {
    draw_whole(first + counter, words);
    if (shift) [[unlikely]]
      shift_words(first + counter, words);
  }

 private:
  [[gnu::noinline]] void shift_words(uint32_t counter, Lanes::Words (&words)[4]) const {
    Lanes::Words both[8], more[4];
    draw_whole(counter + kDraws / 4, more);
    std::memcpy(both, words, sizeof words);
    std::memcpy(both + 4, more, sizeof more);
    std::memcpy(words, reinterpret_cast<const uint32_t*>(both) + shift, sizeof words);
  }
  // Words of whole counters.
  TENON_INLINE void draw_whole(uint32_t counter, Lanes::Words (&words)[4]) const {
    constexpr uint32_t kCounters = Lanes::kLanes / 2;
    PhiloxState s[2];
    for (uint32_t w = 0; w < 2; ++w)
      s[w] = {kOrder + (counter + kCounters * w), Counters{} + stream, Counters{} + step_low, Counters{} + step_high};
    philox(s, keys);
    for (int w = 0; w < 2; ++w) {
      const Counters low = (s[w].c0 & 0xffffffff) | (s[w].c1 << 32), high = (s[w].c2 & 0xffffffff) | (s[w].c3 << 32);
      words[2 * w] = (Lanes::Words)even_lanes(low, high);
      words[2 * w + 1] = (Lanes::Words)odd_lanes(low, high);
    }
  }

  // So that interleaving leaves counters in order.
#ifdef __AVX512F__
  static constexpr Counters kOrder = {0, 4, 1, 5, 2, 6, 3, 7};
  static TENON_INLINE Counters even_lanes(Counters a, Counters b) {
    return __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
  }
  static TENON_INLINE Counters odd_lanes(Counters a, Counters b) {
    return __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
  }
#else
  static constexpr Counters kOrder = {0, 2, 1, 3};
  static TENON_INLINE Counters even_lanes(Counters a, Counters b) { return __builtin_shufflevector(a, b, 0, 4, 2, 6); }
  static TENON_INLINE Counters odd_lanes(Counters a, Counters b) { return __builtin_shufflevector(a, b, 1, 5, 3, 7); }
#endif
};

// The draws of replicas before this device's, each of so many elements.
inline uint64_t draws_before(const NodeView& node, int64_t elements) {
  return static_cast<uint64_t>(node.i64("first")) * static_cast<uint64_t>(elements);
}

// [0, 1) in steps of 2^-24.
TENON_INLINE Lanes::Vector to_unit(Lanes::Words w) {
  return __builtin_convertvector((Lanes::Ints)(w >> 8), Lanes::Vector) * 0x1p-24f;
}

}  // namespace tenon::cpu::TENON_CPU_ISA
