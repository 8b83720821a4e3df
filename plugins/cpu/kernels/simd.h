// Short vectors over GCC's vector extensions: the same code for both instruction sets (two SSE halves
// in the baseline). Arithmetic operators, comparisons (giving i32x8 masks of 0 or -1) and `mask ? a : b`
// are the compiler's own; a * b + c contracts to one FMA where there is one.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/kernels.h"

#define TENON_INLINE inline __attribute__((always_inline))

namespace tenon::cpu::TENON_CPU_ISA {

typedef float f32x8 __attribute__((vector_size(32)));
typedef int32_t i32x8 __attribute__((vector_size(32)));
typedef uint32_t u32x8 __attribute__((vector_size(32)));
typedef double f64x4 __attribute__((vector_size(32)));
typedef float f32x4 __attribute__((vector_size(16)));

// Any alignment.
template <class V, class T>
TENON_INLINE V load_as(const T* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
TENON_INLINE f32x8 load8(const float* p) { return load_as<f32x8>(p); }
TENON_INLINE void store8(float* p, f32x8 v) { std::memcpy(p, &v, sizeof v); }

// x in each lane.
template <class V>
TENON_INLINE V splat(decltype(V{}[0] + 0) x) {
  return x - V{};
}

// The same bits, other type.
TENON_INLINE f32x8 as_f32(i32x8 v) { return (f32x8)v; }
TENON_INLINE i32x8 as_i32(f32x8 v) { return (i32x8)v; }

// Lanes below n (0..8) are -1.
TENON_INLINE i32x8 lane_mask(int64_t n) {
  return i32x8{0, 1, 2, 3, 4, 5, 6, 7} < splat<i32x8>(static_cast<int32_t>(n));
}
// Lanes of the mask only: the others read as 0 and are not touched in memory.
#ifdef __AVX__
TENON_INLINE f32x8 load8_mask(const float* p, i32x8 mask) {
  return __builtin_ia32_maskloadps256(reinterpret_cast<const f32x8*>(p), mask);
}
TENON_INLINE void store8_mask(float* p, f32x8 v, i32x8 mask) {
  __builtin_ia32_maskstoreps256(reinterpret_cast<f32x8*>(p), mask, v);
}
#else  // out of line: eight branches each
__attribute__((noinline)) inline f32x8 load8_mask(const float* p, i32x8 mask) {
  f32x8 v = {};
  for (int i = 0; i < 8; ++i)
    if (mask[i]) v[i] = p[i];
  return v;
}
__attribute__((noinline)) inline void store8_mask(float* p, f32x8 v, i32x8 mask) {
  for (int i = 0; i < 8; ++i)
    if (mask[i]) p[i] = v[i];
}
#endif
// The first n lanes (0..8).
TENON_INLINE f32x8 load8_part(const float* p, int64_t n) { return load8_mask(p, lane_mask(n)); }
// Not a masked store: those take some 20 cycles on Zen.
TENON_INLINE void store8_part(float* p, f32x8 v, int64_t n) {
  if (n == 8) return store8(p, v);
  if (n & 4) {
    std::memcpy(p, &v, 16);
    v = __builtin_shufflevector(v, v, 4, 5, 6, 7, 4, 5, 6, 7);
    p += 4;
  }
  if (n & 2) {
    std::memcpy(p, &v, 8);
    v = __builtin_shufflevector(v, v, 2, 3, 2, 3, 2, 3, 2, 3);
    p += 2;
  }
  if (n & 1) *p = v[0];
}

// Bytes as integers, and back: GCC's own conversion goes lane by lane.
TENON_INLINE i32x8 load8_u8(const uint8_t* p) {
#ifdef __AVX2__
  int64_t bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  typedef int64_t i64x2 __attribute__((vector_size(16)));
  typedef char i8x16 __attribute__((vector_size(16)));
  return (i32x8)__builtin_ia32_pmovzxbd256((i8x16)i64x2{bytes, 0});
#else
  return i32x8{p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]};
#endif
}
TENON_INLINE void store8_u8(uint8_t* p, i32x8 v) {
  typedef uint8_t u8x8 __attribute__((vector_size(8)));
  typedef uint8_t u8x32 __attribute__((vector_size(32)));
  const u8x8 bytes = __builtin_shufflevector((u8x32)v, (u8x32)v, 0, 4, 8, 12, 16, 20, 24, 28);
  std::memcpy(p, &bytes, sizeof bytes);
}

// b where a is NaN or not greater (less): one instruction; NaN in b wins, NaN in a does not.
TENON_INLINE f32x8 vmax(f32x8 a, f32x8 b) {
#ifdef __AVX__
  return __builtin_ia32_maxps256(a, b);
#else
  return a > b ? a : b;
#endif
}
TENON_INLINE f32x8 vmin(f32x8 a, f32x8 b) {
#ifdef __AVX__
  return __builtin_ia32_minps256(a, b);
#else
  return a < b ? a : b;
#endif
}
TENON_INLINE f32x8 sqrt8(f32x8 a) {
#ifdef __AVX__
  return __builtin_ia32_sqrtps256(a);
#else
  for (int i = 0; i < 8; ++i) a[i] = __builtin_sqrtf(a[i]);
  return a;
#endif
}
TENON_INLINE i32x8 to_i32(f32x8 a) { return __builtin_convertvector(a, i32x8); }  // toward 0
TENON_INLINE f32x8 to_f32(i32x8 a) { return __builtin_convertvector(a, f32x8); }

// ---- the same code for 8 and for 16 lanes ----

// What is asked of a vector; `Lanes` is the widest.
struct Lanes8 {
  using Vector = f32x8;
  using Mask = i32x8;
  static constexpr int kLanes = 8;
  static TENON_INLINE Mask first(int64_t n) { return lane_mask(n); }
  static TENON_INLINE Vector load(const float* p) { return load8(p); }
  static TENON_INLINE Vector load(const float* p, Mask mask) { return load8_mask(p, mask); }
  static TENON_INLINE Vector load(const float* p, Mask mask, Vector other) {
    return mask ? load8_mask(p, mask) : other;
  }
  static TENON_INLINE void store(float* p, Vector v) { store8(p, v); }
  static TENON_INLINE void store_part(float* p, Vector v, int64_t n) { store8_part(p, v, n); }
  static TENON_INLINE Vector splat(float x) { return TENON_CPU_ISA::splat<Vector>(x); }
  // What a product of matrices adds to its sums. pairs.h has another.
  static TENON_INLINE Vector add_product(Vector sum, Vector a, Vector b) { return sum + a * b; }
  using Ints = i32x8;
  using Words = u32x8;
  typedef uint16_t Halves __attribute__((vector_size(16)));
  // Each half as a word; and the low halves of words.
  static TENON_INLINE Words words(Halves h) {
#ifdef __AVX2__
    typedef int16_t i16x8 __attribute__((vector_size(16)));
    return (Words)__builtin_ia32_pmovzxwd256(
        (i16x8)h);  // what the compiler makes of a conversion are two of half the width
#else
    return __builtin_convertvector(h, Words);
#endif
  }
  static TENON_INLINE Halves halves(Words w) { return __builtin_convertvector(w, Halves); }
  static TENON_INLINE Ints load_u8(const uint8_t* p) { return load8_u8(p); }
  static TENON_INLINE void store_u8(uint8_t* p, Ints v) { store8_u8(p, v); }
};

#ifdef __AVX512F__
typedef float f32x16 __attribute__((vector_size(64)));
TENON_INLINE f32x16 vmax(f32x16 a, f32x16 b) {
  return __builtin_ia32_maxps512_mask(a, b, f32x16{}, static_cast<uint16_t>(-1), 4);  // 4: rounding as set
}
TENON_INLINE f32x16 vmin(f32x16 a, f32x16 b) {
  return __builtin_ia32_minps512_mask(a, b, f32x16{}, static_cast<uint16_t>(-1), 4);
}
struct Lanes16 {
  using Vector = f32x16;
  using Mask = uint16_t;
  static constexpr int kLanes = 16;
  static TENON_INLINE Mask first(int64_t n) { return static_cast<Mask>((1u << n) - 1); }
  static TENON_INLINE Vector load(const float* p) { return load_as<f32x16>(p); }
  static TENON_INLINE Vector load(const float* p, Mask mask) { return load(p, mask, Vector{}); }
  static TENON_INLINE Vector load(const float* p, Mask mask, Vector other) {
    return __builtin_ia32_loadups512_mask(p, other, mask);
  }
  static TENON_INLINE void store(float* p, Vector v) { std::memcpy(p, &v, sizeof v); }
  static TENON_INLINE void store_part(float* p, Vector v, int64_t n) {
    __builtin_ia32_storeups512_mask(p, v, first(n));
  }
  static TENON_INLINE Vector splat(float x) { return TENON_CPU_ISA::splat<Vector>(x); }
  static TENON_INLINE Vector add_product(Vector sum, Vector a, Vector b) { return sum + a * b; }
  typedef int32_t Ints __attribute__((vector_size(64)));
  typedef uint32_t Words __attribute__((vector_size(64)));
  typedef uint16_t Halves __attribute__((vector_size(32)));
  static TENON_INLINE Words words(Halves h) {
    typedef int16_t i16x16 __attribute__((vector_size(32)));
    return (Words)__builtin_ia32_pmovzxwd512_mask((i16x16)h, Ints{}, static_cast<Mask>(-1));
  }
  static TENON_INLINE Halves halves(Words w) {
    typedef int16_t i16x16 __attribute__((vector_size(32)));
    return (Halves)__builtin_ia32_pmovdw512_mask((Ints)w, i16x16{}, static_cast<Mask>(-1));
  }
  static TENON_INLINE Ints load_u8(const uint8_t* p) {
    typedef char i8x16 __attribute__((vector_size(16)));
    return (Ints)__builtin_ia32_pmovzxbd512_mask(load_as<i8x16>(p), Ints{}, static_cast<Mask>(-1));
  }
  static TENON_INLINE void store_u8(uint8_t* p, Ints v) {
    typedef char i8x16 __attribute__((vector_size(16)));
    const i8x16 bytes = __builtin_ia32_pmovdb512_mask(v, i8x16{}, static_cast<Mask>(-1));
    std::memcpy(p, &bytes, sizeof bytes);
  }
};
using Lanes = Lanes16;
#else
using Lanes = Lanes8;
#endif

// What functions of vectors of either width are written with.
template <class V>
using IntsOf = decltype(V{} < V{});
template <class V>
struct WordsOfLanes;
template <>
struct WordsOfLanes<f32x8> {
  using type = u32x8;
};
#ifdef __AVX512F__
template <>
struct WordsOfLanes<f32x16> {
  using type = Lanes16::Words;
};
#endif
template <class V>
using WordsOf = typename WordsOfLanes<V>::type;
template <class V>
TENON_INLINE IntsOf<V> bits_of(V v) {
  return (IntsOf<V>)v;
}
template <class V>
TENON_INLINE V floats_of(IntsOf<V> v) {
  return (V)v;
}
template <class V>
TENON_INLINE V vabs(V v) {
  return floats_of<V>(bits_of(v) & 0x7fffffff);
}
// NaN in either wins.
template <class V>
TENON_INLINE V vmax_nan(V a, V b) {
  const V m = vmax(a, b);
  return a == a ? m : a;
}
template <class V>
TENON_INLINE V vmin_nan(V a, V b) {
  const V m = vmin(a, b);
  return a == a ? m : a;
}

// This thread's share of out = the sum of `chunks` arrays of `size` floats that lie one after the other, in their order.
inline void add_chunks(const Call& call, const float* partial, int64_t chunks, int64_t size, float* out) {
  const Slice part = call.share(size, 16);
  for (int64_t i = part.begin; i < part.end; i += 8) {
    const int64_t n = part.end - i < 8 ? part.end - i : 8;
    f32x8 sum = load8_part(partial + i, n);
    for (int64_t k = 1; k < chunks; ++k) sum += load8_part(partial + k * size + i, n);
    store8_part(out + i, sum, n);
  }
}

// In a fixed order: halves, quarters, pairs.
TENON_INLINE float sum8(f32x8 v) {
  const f32x4 q = f32x4{v[0], v[1], v[2], v[3]} + f32x4{v[4], v[5], v[6], v[7]};
  return (q[0] + q[2]) + (q[1] + q[3]);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
