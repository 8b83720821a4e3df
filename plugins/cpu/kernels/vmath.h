// Elementary functions of eight floats at a time, or of sixteen, within the error bounds of the op set (exp, expm1, log 3 ulp;
// log1p 2; sin, cos 4; tanh 5; atan2 6; pow, erf 16) over the full range, edges as in C's libm. The
// polynomials are minimax fits of relative error; the range each holds on stands beside it.
#pragma once

#include <cmath>

#include "kernels/simd.h"

namespace tenon::cpu::TENON_CPU_ISA {

typedef int64_t i64x4 __attribute__((vector_size(32)));
typedef uint64_t u64x4 __attribute__((vector_size(32)));
typedef int32_t i32x4 __attribute__((vector_size(16)));

constexpr float kInf = __builtin_inff();
constexpr float kNaN = __builtin_nanf("");

template <class V, class C>
TENON_INLINE V horner(V, C c) {
  return V{} + c;
}
// c0 + c1 x + c2 x^2 + ..
template <class V, class C, class... Rest>
TENON_INLINE V horner(V x, C c0, Rest... rest) {
  return horner(x, rest...) * x + c0;
}

TENON_INLINE bool any8(i32x8 mask) {
#ifdef __AVX__
  return __builtin_ia32_movmskps256(as_f32(mask)) != 0;
#else
  int32_t m = 0;
  for (int i = 0; i < 8; ++i) m |= mask[i];
  return m != 0;
#endif
}
template <class V>
TENON_INLINE V vcopysign(V magnitude, V sign) {
  return floats_of<V>((bits_of(magnitude) & 0x7fffffff) | (bits_of(sign) & INT32_MIN));
}

// ---- rounding ----

template <class V>
TENON_INLINE V vround(V x) {  // halves to even
  const V big = splat<V>(8388608.f), a = vabs(x);
  return a < big ? vcopysign(a + big - big, x) : x;
}
template <class V>
TENON_INLINE V vfloor(V x) {
  const V r = vround(x);
  return r > x ? r - 1.f : r;
}

// ---- exponentials: one split of the exponent and one polynomial, which differ in what becomes of the ends ----

constexpr float kRoundsToInteger = 12582912.f;  // added and taken away again; its last nine bits are zero

// x = n log 2 + r, |r| <= 0.35.
template <class V>
struct Powers {
  V t;  // n + kRoundsToInteger: n is its last bits
  V n, r;
  TENON_INLINE IntsOf<V> exponent() const { return bits_of(t) - bits_of(splat<V>(kRoundsToInteger)); }
};
template <class V>
TENON_INLINE Powers<V> powers_of(V x) {
  const V magic = splat<V>(kRoundsToInteger);
  const V t = x * 1.44269504f + magic;
  const V n = t - magic;
  return {t, n, (x - n * 0.693359375f) + n * 2.12194440e-4f};
}
// 2^n where that is a normal number.
template <class V>
TENON_INLINE V power_of_two(const Powers<V>& e) {
  return (V)(((WordsOf<V>)e.t << 23) + 0x3f800000u);
}
// exp(r) for |r| <= 0.35.
template <class V>
TENON_INLINE V exp_of_rest(V r) {
  const V p = horner(r, 5.0000001010e-01f, 1.6666512890e-01f, 4.1666187308e-02f, 8.3695982375e-03f, 1.3951716087e-03f);
  return 1.f + (r + r * r * p);
}
// 2^n, n in [-252, 254], as a product of two powers, so that results may overflow or turn subnormal.
template <class V>
TENON_INLINE V scale_by_power(V x, IntsOf<V> n) {
  const IntsOf<V> half = n >> 1;
  return x * floats_of<V>((half + 127) << 23) * floats_of<V>((n - half + 127) << 23);
}
// exp(x + low), |low| small beside 1.
template <class V>
TENON_INLINE V exp_of_sum(V x, V low) {
  const Powers<V> e = powers_of(vmax(splat<V>(-105.f), vmin(splat<V>(90.f), x)));
  return scale_by_power(exp_of_rest(e.r + low), e.exponent());
}
template <class V>
TENON_INLINE V vexp(V x) {
  return exp_of_sum(x, V{});
}

template <class V>
TENON_INLINE V vexpm1(V x) {
  const Powers<V> e = powers_of(vmax(splat<V>(-20.f), vmin(splat<V>(88.8f), x)));
  const V r = e.r;
  const V q = horner(r, 5.0000000492e-01f, 1.6666666828e-01f, 4.1666342046e-02f, 8.3332702694e-03f, 1.3942053472e-03f,
                     1.9915796281e-04f);
  const V p = r + r * r * q;
  // 2^n (p + 1) - 1 by halves: 2^128 is no float.
  const V half = floats_of<V>((e.exponent() + 126) << 23);
  const V y = 2.f * (p * half + (half - 0.5f));
  return e.n == 0.f ? (x == 0.f ? x : p) : y;
}

// ---- logarithms ----

// log(m) + e log 2 + low for f = m - 1 in [sqrt 1/2 - 1, sqrt 2 - 1].
template <class V>
TENON_INLINE V log_of_parts(V f, V e, V low) {
  const V z = f * f;
  const V p = horner(f, 3.3333309347e-01f, -2.4999987705e-01f, 2.0002311952e-01f, -1.6669240613e-01f, 1.4216737397e-01f,
                     -1.2383408274e-01f, 1.1887475063e-01f, -1.1801580233e-01f, 6.8949886658e-02f);
  V y = f * z * p + (e * -2.12194440e-4f + low);
  y = y - z * 0.5f;
  return (f + y) + e * 0.693359375f;
}
// Splits x = 2^e m, m in [sqrt 1/2, sqrt 2).
template <class V>
TENON_INLINE void split_exponent(V x, IntsOf<V>& e, V& m) {
  const IntsOf<V> root_half = splat<IntsOf<V>>(0x3f3504f3);
  const IntsOf<V> i = (IntsOf<V>)((WordsOf<V>)x - (WordsOf<V>)root_half);  // wraps below zero
  e = i >> 23;
  m = floats_of<V>((i & 0x7fffff) + root_half);
}
template <class V>
TENON_INLINE V vlog(V x) {
  const IntsOf<V> tiny = x < 1.17549435e-38f;
  IntsOf<V> e;
  V m;
  split_exponent(tiny ? x * 8388608.f : x, e, m);
  e = tiny ? e - 23 : e;
  V y = log_of_parts(m - 1.f, __builtin_convertvector(e, V), V{});
  y = x < kInf ? y : x;  // inf, NaN
  y = x < 0.f ? splat<V>(kNaN) : y;
  return x == 0.f ? splat<V>(-kInf) : y;
}
template <class V>
TENON_INLINE V vlog1p(V x) {
  const V u = x + 1.f;  // rounded; what it lost comes back
  IntsOf<V> e;
  V m;
  split_exponent(u, e, m);
  const V lost = x > 1.f ? 1.f - (u - x) : x - (u - 1.f);
  const IntsOf<V> near_one = e == 0;
  V y = log_of_parts(near_one ? x : m - 1.f, __builtin_convertvector(e, V), near_one ? V{} : lost / u);
  y = x < kInf ? y : x;
  y = u < 0.f ? splat<V>(kNaN) : y;
  y = u == 0.f ? splat<V>(-kInf) : y;
  return x == 0.f ? x : y;
}

// ---- hyperbolic, normal distribution ----

// exp(x) where 1 is added to it: what is below the normal numbers is 0, what is above 2^127.5 infinity.
template <class V>
TENON_INLINE V exp_beside_one(V x) {
  const Powers<V> e = powers_of(vmax(splat<V>(-88.f), vmin(splat<V>(89.f), x)));
  return exp_of_rest(e.r) * power_of_two(e);
}
template <class V>
TENON_INLINE V vsigmoid(V x) {
  return 1.f / (1.f + exp_beside_one(-x));
}

template <class V>
TENON_INLINE V vtanh(V x) {
  const V a = vabs(x), z = x * x;
  const V p =
      horner(z, -3.3333282683e-01f, 1.3331210629e-01f, -5.3708471724e-02f, 2.0514155805e-02f, -5.5499799674e-03f);
  const V big = 1.f - 2.f / (vexp(a + a) + 1.f);
  return a < 0.63f ? x + x * (z * p) : vcopysign(big, x);
}
// exp(x^2) erfc(x) for x in [0, 11].
template <class V>
TENON_INLINE V scaled_erfc(V x) {
  const V t = 1.f / (1.f + 0.4f * x);
  return t * horner(t, 2.2570087624e-01f, 2.2507096871e-01f, 2.1391838242e-01f, 1.3440042875e-01f, 2.5828121654e-01f,
                    -2.5847480608e-01f, 5.1608393942e-01f, -4.7515801500e-01f, 1.8790069101e-01f, -2.7723671716e-02f);
}
template <class V>
TENON_INLINE V verf(V x) {
  const V a = vmin(splat<V>(6.f), vabs(x)), z = a * a;
  const V p = horner(z, 1.1283791651e+00f, -3.7612620634e-01f, 1.1283519764e-01f, -2.6850828276e-02f, 5.1822231040e-03f,
                     -7.9530192847e-04f, 7.6542229987e-05f);
  const V big = 1.f - vexp(-z) * scaled_erfc(a);
  return a < 1.f ? x * p : vcopysign(big, x);
}
// The tail keeps its relative accuracy.
template <class V>
TENON_INLINE V verfc(V x) {
  const V a = vmin(splat<V>(11.f), vabs(x));
  const V high = floats_of<V>(bits_of(a) & ~0xfff);  // high * high is exact
  const V tail = exp_of_sum(-(high * high), -((a - high) * (a + high))) * scaled_erfc(a);
  return x < 0.f ? 2.f - tail : tail;
}
template <class V>
struct Normal {
  V cdf, density;
};
// The tail below zero keeps its relative accuracy.
template <class V>
TENON_INLINE Normal<V> vnormal(V x) {
  const V a = vmin(splat<V>(15.f), vabs(x));
  const V high = floats_of<V>(bits_of(a) & ~0xfff);  // high * high is exact
  const V e = exp_of_sum(-0.5f * (high * high), -0.5f * ((a - high) * (a + high)));
  const V tail = 0.5f * e * scaled_erfc(a * 0.70710678f);
  return {x < 0.f ? tail : 1.f - tail, e * 0.39894228f};
}

// ---- through double: sines, powers ----

TENON_INLINE f64x4 low_half(f32x8 x) {
  return __builtin_convertvector(__builtin_shufflevector(x, x, 0, 1, 2, 3), f64x4);
}
TENON_INLINE f64x4 high_half(f32x8 x) {
  return __builtin_convertvector(__builtin_shufflevector(x, x, 4, 5, 6, 7), f64x4);
}
TENON_INLINE f32x8 join(f64x4 low, f64x4 high) {
  return __builtin_shufflevector(__builtin_convertvector(low, f32x4), __builtin_convertvector(high, f32x4), 0, 1, 2, 3,
                                 4, 5, 6, 7);
}
TENON_INLINE f64x4 as_f64(i64x4 v) { return (f64x4)v; }
TENON_INLINE i64x4 as_i64(f64x4 v) { return (i64x4)v; }

constexpr double kMagic64 = 6755399441055744.0;  // adding it rounds to an integer in the low bits

// x = quarter * pi / 2 + r, |r| <= pi / 4, for |x| < 2^20.
TENON_INLINE f64x4 reduce_quarter(f64x4 x, i32x4& quarter) {
  const f64x4 t = x * 0.63661977236758134308 + kMagic64;
  const f64x4 n = t - kMagic64;
  quarter = __builtin_convertvector(as_i64(t), i32x4);
  return (x - n * 1.57079632673412561417) - n * 6.07710050650619224932e-11;
}
template <int kShift, class Libm>
TENON_INLINE f32x8 sine(f32x8 x, Libm libm) {
  i32x4 q0, q1;
  const f64x4 r0 = reduce_quarter(low_half(x), q0), r1 = reduce_quarter(high_half(x), q1);
  const f32x8 r = join(r0, r1), z = r * r;
  const i32x8 q = (i32x8)((u32x8)__builtin_shufflevector(q0, q1, 0, 1, 2, 3, 4, 5, 6, 7) + uint32_t{kShift});
  const f32x8 s = r + r * (z * horner(z, -1.6666654666e-01f, 8.3321003579e-03f, -1.9503881898e-04f));
  const f32x8 c = (1.f - 0.5f * z) + z * z * horner(z, 4.1666654643e-02f, -1.3887653785e-03f, 2.4463755724e-05f);
  f32x8 y = (q & 1) != 0 ? c : s;
  y = as_f32(as_i32(y) ^ ((q & 2) << 30));
  const i32x8 huge = vabs(x) > 1e6f;
  if (any8(huge))
    for (int i = 0; i < 8; ++i)
      if (huge[i]) y[i] = libm(x[i]);
  return y;
}
TENON_INLINE f32x8 vsin(f32x8 x) {
  const f32x8 y = sine<0>(x, [](float v) { return std::sin(v); });
  return x == 0.f ? x : y;
}
TENON_INLINE f32x8 vcos(f32x8 x) {
  return sine<1>(x, [](float v) { return std::cos(v); });
}

// 2^(y log2 a), a >= 0, to 2^-29; a = 1 with infinite y and NaN are the caller's.
TENON_INLINE f64x4 pow_magnitude(f64x4 a, f64x4 y) {
  const u64x4 bits = (u64x4)a;
  const u64x4 biased =
      (bits + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu)) >> 52;  // exponent + 1023, m in [sqrt 1/2, sqrt 2)
  const f64x4 e = (f64x4)(biased | 0x4330000000000000u) - (4503599627370496.0 + 1023.0);
  const f64x4 m = (f64x4)(bits - (biased << 52) + 0x3ff0000000000000u);
  const f64x4 s = (m - 1.0) / (m + 1.0);
  f64x4 l =
      e + s * horner(s * s, 2.8853900818e+00, 9.6179667288e-01, 5.7708367810e-01, 4.1166683154e-01, 3.4084404983e-01);
  l = a == 0.0 ? f64x4{} - double(kInf) : l;
  l = a == double(kInf) ? f64x4{} + double(kInf) : l;
  f64x4 t = l * y;
  t = t > 130.0 ? f64x4{} + 130.0 : t;
  t = t < -160.0 ? f64x4{} - 160.0 : t;
  const f64x4 r = t + kMagic64;
  const f64x4 f = t - (r - kMagic64);
  const f64x4 p = horner(f, 1.0000000006e+00, 6.9314720604e-01, 2.4022646845e-01, 5.5503281245e-02, 9.6184917758e-03,
                         1.3400195334e-03, 1.5345597907e-04);
  return as_f64(as_i64(p) + (as_i64(r) << 52));
}
TENON_INLINE f32x8 vpow(f32x8 x, f32x8 y) {
  const f32x8 a = vabs(x), one = splat<f32x8>(1.f);
  f32x8 r = join(pow_magnitude(low_half(a), low_half(y)), pow_magnitude(high_half(a), high_half(y)));
  r = ((a == 1.f) | (y == 0.f)) ? one : r;
  const f32x8 ay = vabs(y);
  const i32x8 whole = (vround(y) == y) | (ay == kInf);
  const i32x8 odd = whole & (ay < 16777216.f) & (((to_i32(ay < 16777216.f ? ay : one)) & 1) != 0);
  r = as_f32(as_i32(r) ^ (as_i32(x) & odd & INT32_MIN));
  r = ((x < 0.f) & (a < kInf) & ~whole) ? splat<f32x8>(kNaN) : r;
  const i32x8 nan = ((x != x) | (y != y)) & (y != 0.f) & (x != 1.f);
  return nan ? splat<f32x8>(kNaN) : r;
}

TENON_INLINE f32x8 vatan2(f32x8 y, f32x8 x) {
  const f32x8 ax = vabs(x), ay = vabs(y);
  const i32x8 steep = ay > ax;
  const f32x8 top = steep ? ax : ay, bottom = steep ? ay : ax;
  f32x8 q = top / bottom;
  q = top == bottom ? splat<f32x8>(1.f) : q;  // inf / inf
  q = top == 0.f ? f32x8{} : q;               // 0 / 0
  const f32x8 z = q * q;
  f32x8 r = q + q * (z * horner(z, -3.3333312367e-01f, 1.9998842190e-01f, -1.4266346398e-01f, 1.0958582427e-01f,
                                -8.4106545663e-02f, 5.7913541743e-02f, -3.0991290305e-02f, 1.0748500255e-02f,
                                -1.7437011465e-03f));
  r = steep ? 1.57079637f - (r + 4.37113883e-8f) : r;
  r = as_i32(x) < 0 ? 3.14159274f - (r + 8.74227766e-8f) : r;
  r = ((x != x) | (y != y)) ? splat<f32x8>(kNaN) : r;
  return vcopysign(r, y);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
