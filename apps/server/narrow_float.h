// Floats of 16 bits, as requests bring their numbers.
#pragma once

#include <cmath>
#include <cstdint>

namespace tenon::server {

// IEEE 754's format with so many bits of fraction and that bias of the exponent, in 16 bits: the upper half of a float, and binary16.
template <int kFraction, int kBias>
struct NarrowFloat {
  uint16_t bits;
  NarrowFloat() = default;
  // Rounds to nearest even, once. What is too large becomes infinity.
  explicit NarrowFloat(double number) : bits(bits_of(std::fabs(number))) {
    if (std::signbit(number)) bits |= 0x8000;
  }
  bool finite() const { return (bits & kInfinity) != kInfinity; }

 private:
  static constexpr uint16_t kInfinity = 0x7fff >> kFraction << kFraction;
  // Exponents stand above fractions, so that a fraction that is rounded up to 1 adds one to the exponent. REQUIRED: size >= 0.
  static uint16_t bits_of(double size) {
    int exponent = 0;  // size = significand * 2^exponent, with a significand from 0.5 on
    const double significand = std::frexp(size, &exponent);
    const int stored = exponent - 1 + kBias;
    if (!std::isfinite(size) || stored >= 0x7fff >> kFraction) return kInfinity;
    if (stored < 1 || size == 0) return static_cast<uint16_t>(std::nearbyint(std::ldexp(size, kBias - 1 + kFraction)));
    const auto units = static_cast<int>(std::nearbyint(std::ldexp(significand, kFraction + 1)));
    return static_cast<uint16_t>((stored << kFraction) + units - (1 << kFraction));
  }
};
using Bf16 = NarrowFloat<7, 127>;
using F16 = NarrowFloat<10, 15>;

}  // namespace tenon::server
