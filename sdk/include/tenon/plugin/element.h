// The dtypes of the ABI as C++ types, and the choice of one of them at run time. C++17, header only.
//
//   dispatch(Floats{}, node.in(0).dtype(), [&](auto t) {
//     using T = decltype(t);                 // float, Bf16, F16 or double
//     const T* x = call.in<T>(0); ..
//   });
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "tenon/abi/types.h"

namespace tenon::plugin {

inline uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// x as a float that rounds to 16 bits as x itself would: what a float cannot hold leaves its last bit odd.
inline float round_to_odd(float x) { return x; }
inline float round_to_odd(double x) {
  const float f = static_cast<float>(x);
  if (f == x || x != x) return f;
  uint32_t bits = bits_of(f);
  if (std::fabs(static_cast<double>(f)) > std::fabs(x)) --bits;  // toward zero; from infinity to the largest float
  return float_of(bits | 1);
}
template <class Integer>
float round_to_odd(Integer x) {
  constexpr int64_t exact = int64_t{1} << 53;
  const int64_t v = static_cast<int64_t>(x), low = v & 0x7FF;
  if (-exact < v && v < exact) return round_to_odd(static_cast<double>(v));
  // A double does not hold it: of what is cut off one bit is kept, on the same side of every float and of every middle.
  return round_to_odd(static_cast<double>(v - low) + (low != 0 ? 1024 : 0));
}

// The upper half of a float. Conversion rounds to nearest even, once, from any number.
struct Bf16 {
  uint16_t bits;
  Bf16() = default;
  template <class Number>
  explicit Bf16(Number number) {
    const float x = round_to_odd(number);
    const uint32_t b = bits_of(x);
    bits = static_cast<uint16_t>(x != x ? b >> 16 | 0x40 : (b + 0x7FFF + (b >> 16 & 1)) >> 16);
  }
  operator float() const { return float_of(uint32_t{bits} << 16); }
};

// IEEE 754 binary16: 5 bits of exponent, 10 of fraction. Rounds as Bf16 does.
struct F16 {
  uint16_t bits;
  F16() = default;
  template <class Number>
  explicit F16(Number number) {
    const uint32_t b = bits_of(round_to_odd(number)), size = b & 0x7FFFFFFF;
    uint32_t h;
    if (size > 0x7F800000)
      h = 0x7E00;  // NaN
    else if (size >= 0x477FF000)
      h = 0x7C00;  // from 65520: infinity
    else if (size < 0x38800000)
      h = bits_of(float_of(size) + 0.5f) - bits_of(0.5f);  // units of 2^-24
    else
      h = (size - 0x38000000 + 0xFFF + (size >> 13 & 1)) >> 13;
    bits = static_cast<uint16_t>(h | (b >> 16 & 0x8000));
  }
  operator float() const {
    const uint32_t sign = uint32_t{bits & 0x8000u} << 16, exponent = bits & 0x7C00u, size = bits & 0x7FFFu;
    if (exponent == 0) return float_of(sign | bits_of(static_cast<float>(size) * 0x1p-24f));
    return float_of(sign | ((size << 13) + (exponent == 0x7C00 ? 0x70000000u : 0x38000000u)));
  }
};

// ---- types by dtype ----

template <class T>
constexpr int32_t dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return TENON_F32;
  else if constexpr (std::is_same_v<T, Bf16>)
    return TENON_BF16;
  else if constexpr (std::is_same_v<T, F16>)
    return TENON_F16;
  else if constexpr (std::is_same_v<T, double>)
    return TENON_F64;
  else if constexpr (std::is_same_v<T, int32_t>)
    return TENON_I32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return TENON_I64;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return TENON_U8;
  else {
    static_assert(std::is_same_v<T, bool>, "no dtype has this type");
    return TENON_BOOL;
  }
}

// The classes of the op set: F, I, N, N and B, A.
template <class... T>
struct Types {};
using Floats = Types<float, Bf16, F16, double>;
using Integers = Types<int32_t, int64_t>;
using Numbers = Types<float, Bf16, F16, double, int32_t, int64_t>;
using NumbersAndBool = Types<float, Bf16, F16, double, int32_t, int64_t, bool>;
using All = Types<float, Bf16, F16, double, int32_t, int64_t, uint8_t, bool>;

template <class... T>
constexpr bool contains(Types<T...>, int32_t dtype) {
  return ((dtype == dtype_of<T>()) || ...);
}

// f(T{}) with the one of the types that dtype means; f returns the same type for all. Throws when there is none.
template <class T, class... Rest, class F>
auto dispatch(Types<T, Rest...>, int32_t dtype, F&& f) {
  if (dtype == dtype_of<T>()) return f(T{});
  if constexpr (sizeof...(Rest) > 0)
    return dispatch(Types<Rest...>{}, dtype, f);
  else
    throw std::invalid_argument("this dtype is not supported here");
}

// For what moves elements and does not look at them: f(uint8_t{}), .. f(uint64_t{}), by an element's bytes.
template <class F>
auto dispatch_width(int64_t bytes, F&& f) {
  return bytes == 8 ? f(uint64_t{}) : bytes == 4 ? f(uint32_t{}) : bytes == 2 ? f(uint16_t{}) : f(uint8_t{});
}

// ---- arithmetic ----

template <class T>
struct Arithmetic {  // f32, bf16, f16
  using type = float;
  using sum = float;
};
template <>
struct Arithmetic<double> {
  using type = double;
  using sum = double;
};
template <>
struct Arithmetic<int32_t> {
  using type = int64_t;
  using sum = int32_t;
};
template <>
struct Arithmetic<int64_t> {
  __extension__ typedef __int128 type;
  using sum = int64_t;
};
template <>
struct Arithmetic<uint8_t> {
  using type = int;
  using sum = uint8_t;
};
template <>
struct Arithmetic<bool> {
  using type = int;
  using sum = bool;
};
// What an element is computed in: f32 for 16 bits; integers in twice their width, where nothing overflows, so
// that the low bits, which a conversion back keeps, are those of arithmetic that wraps.
template <class T>
using Wide = typename Arithmetic<T>::type;
// What sums of elements are kept in: the dtype itself, but f32 for 16 bits.
template <class T>
using Sum = typename Arithmetic<T>::sum;

// cast's meaning: to bool x != 0; float to integer toward 0, saturating, NaN 0; else as C++ converts, with the
// low bits of integers and one rounding of floats.
template <class To, class From>
To convert(From from) {
  const Wide<From> x = from;
  if constexpr (std::is_same_v<To, bool>)
    return x != 0;
  else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<Wide<From>>) {
    using Limits = std::numeric_limits<To>;
    if (x != x) return 0;
    if (x <= static_cast<Wide<From>>(Limits::min())) return Limits::min();
    if (x >= static_cast<Wide<From>>(Limits::max())) return Limits::max();
    return static_cast<To>(x);
  } else
    return static_cast<To>(x);
}

// Where max and min begin: the infinities, or the ends of the range.
template <class T>
constexpr T lowest() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}
template <class T>
constexpr T highest() {
  return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
}

// A scalar of a run in its dtype: to[0..width of the dtype) is written.
inline void put_scalar(const tenon_scalar& from, int32_t dtype, void* to) {
  const auto put = [to](auto value) { std::memcpy(to, &value, sizeof value); };
  switch (dtype) {
    case TENON_F32:
      return put(static_cast<float>(from.f64));
    case TENON_BF16:
      return put(Bf16(from.f64));
    case TENON_F16:
      return put(F16(from.f64));
    case TENON_F64:
      return put(from.f64);
    case TENON_I32:
      return put(static_cast<int32_t>(from.i64));
    case TENON_I64:
      return put(from.i64);
    case TENON_U8:
      return put(static_cast<uint8_t>(from.i64));
    default:
      return put(static_cast<uint8_t>(from.i64 != 0));
  }
}

}  // namespace tenon::plugin
