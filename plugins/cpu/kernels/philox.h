// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), four counters at a time.
#pragma once

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

// Words of the counter in the low halves of lanes; the high halves are arbitrary throughout.
struct PhiloxState {
  u64x4 c0, c1, c2, c3;
};

// kWays independent states side by side, to hide the latency of the products.
template <int kWays>
TENON_INLINE void philox(PhiloxState (&c)[kWays], uint32_t key0, uint32_t key1) {
  const u64x4 m0 = u64x4{} + 0xD2511F53u, m1 = u64x4{} + 0xCD9E8D57u;
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 4
    for (int w = 0; w < kWays; ++w) {
      const u64x4 p0 = multiply_low(c[w].c0, m0), p1 = multiply_low(c[w].c2, m1);
      c[w] = {(p1 >> 32) ^ c[w].c1 ^ uint64_t{key0}, p1, (p0 >> 32) ^ c[w].c3 ^ uint64_t{key1}, p0};
    }
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

// What every draw of one node in one step shares.
struct RandomStream {
  uint32_t stream, step_low, step_high, key0, key1;
  RandomStream(int64_t seed, int64_t step, uint32_t id)
      : stream(id),
        step_low(static_cast<uint32_t>(step)),
        step_high(static_cast<uint32_t>(static_cast<uint64_t>(step) >> 32)),
        key0(static_cast<uint32_t>(seed)),
        key1(static_cast<uint32_t>(static_cast<uint64_t>(seed) >> 32)) {}

  // Words [4 counter, 4 counter + 32), in order.
  TENON_INLINE void words32(uint32_t counter, u32x8 (&words)[4]) const {
    const u64x4 lanes = {0, 2, 1, 3};  // so that unpacking leaves counters in order
    PhiloxState s[2];
    for (uint32_t w = 0; w < 2; ++w)
      s[w] = {lanes + (counter + 4 * w), u64x4{} + stream, u64x4{} + step_low, u64x4{} + step_high};
    philox(s, key0, key1);
    for (int w = 0; w < 2; ++w) {
      const u64x4 low = (s[w].c0 & 0xffffffff) | (s[w].c1 << 32), high = (s[w].c2 & 0xffffffff) | (s[w].c3 << 32);
      words[2 * w] = (u32x8)__builtin_shufflevector(low, high, 0, 4, 2, 6);
      words[2 * w + 1] = (u32x8)__builtin_shufflevector(low, high, 1, 5, 3, 7);
    }
  }
};

// [0, 1) in steps of 2^-24.
TENON_INLINE f32x8 to_unit(u32x8 w) { return to_f32((i32x8)(w >> 8)) * 0x1p-24f; }

}  // namespace tenon::cpu::TENON_CPU_ISA
