// Rounding and distances of floats by arithmetic on doubles, as the yardstick for kernels.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "tenon/abi/types.h"

namespace tenon::testing {

inline float from_bits(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
inline uint32_t bits_of(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return bits;
}

// How many float spacings lie between got and the exact value; subnormals count as zero, and so may one
// spacing beyond the largest float count as infinity.
inline double ulps(float got, double want) {
  constexpr double kFar = 1e30, kLargest = std::numeric_limits<float>::max();
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? 0 : kFar;
  if (std::isinf(want) || std::isinf(got))
    return got == static_cast<float>(want) ||
                   (std::isinf(got) && std::fabs(want) > 0.999999 * kLargest && std::signbit(got) == std::signbit(want))
               ? 0
               : kFar;
  if (std::fabs(want) < 1.2e-38) return std::fabs(got) < 1.2e-38 ? 0 : kFar;
  int e;
  std::frexp(want, &e);
  return std::fabs(got - want) / std::ldexp(1.0, e - 24);
}

struct HalfFormat {
  int mantissa, lowest;  // bits after the point; exponent of the smallest normal number
  double largest;
};
inline HalfFormat half_format(int32_t dtype) {
  return dtype == TENON_BF16 ? HalfFormat{7, -126, 0x1.fep127} : HalfFormat{10, -14, 65504};
}

// x rounded to bf16 or f16, to nearest even.
inline float round_to_half(int32_t dtype, double x) {
  const HalfFormat f = half_format(dtype);
  if (!std::isfinite(x) || x == 0) return static_cast<float>(x);
  const double step = std::ldexp(1.0, std::max(std::ilogb(x), f.lowest) - f.mantissa);
  const double y = std::nearbyint(x / step) * step;
  return static_cast<float>(std::fabs(y) > f.largest ? std::copysign(INFINITY, x) : y);
}

inline uint16_t to_half(int32_t dtype, float x) {
  const float y = round_to_half(dtype, x);
  if (dtype == TENON_BF16) return static_cast<uint16_t>(std::isnan(y) ? 0x7fc0 : bits_of(y) >> 16);
  const uint16_t sign = std::signbit(y) ? 0x8000 : 0;
  if (std::isnan(y)) return 0x7e00;
  if (std::isinf(y)) return static_cast<uint16_t>(sign | 0x7c00);
  const double a = std::fabs(y);
  if (a < 0x1p-14) return static_cast<uint16_t>(sign | static_cast<uint16_t>(a * 0x1p24));
  const int e = std::ilogb(a);
  return static_cast<uint16_t>(sign | ((e + 15) << 10) | static_cast<uint16_t>(std::ldexp(a, 10 - e) - 1024));
}
inline float from_half(int32_t dtype, uint16_t h) {
  if (dtype == TENON_BF16) return from_bits(static_cast<uint32_t>(h) << 16);
  const int e = h >> 10 & 31, m = h & 1023;
  const double a = e == 31 ? (m ? NAN : INFINITY) : e ? std::ldexp(1024 + m, e - 25) : std::ldexp(m, -24);
  return static_cast<float>(h & 0x8000 ? -a : a);
}
inline std::vector<uint16_t> to_halves(int32_t dtype, const std::vector<float>& x) {
  std::vector<uint16_t> y;
  for (float v : x) y.push_back(to_half(dtype, v));
  return y;
}
inline std::vector<float> from_halves(int32_t dtype, const std::vector<uint16_t>& x) {
  std::vector<float> y;
  for (uint16_t v : x) y.push_back(from_half(dtype, v));
  return y;
}

}  // namespace tenon::testing
