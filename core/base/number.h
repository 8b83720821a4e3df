// What a number may be, asked before it is used. Casts of floating numbers to integers are undefined for NaN and for what
// the integer does not hold.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>

#include "base/strings.h"
#include "tenon/types.h"

namespace tenon {

// Whether `value` without its fraction is a number of T.
template <std::integral T>
bool fits(double value) {
  return value >= static_cast<double>(std::numeric_limits<T>::min()) &&
         value < std::ldexp(1.0, std::numeric_limits<T>::digits);
}

// Whether an element can be `value`: floats take every number, if rounded.
inline bool fits(DType dtype, double value) {
  switch (dtype) {
    case DType::kI32:
      return fits<int32_t>(value);
    case DType::kI64:
      return fits<int64_t>(value);
    case DType::kU8:
    case DType::kBool:
      return fits<uint8_t>(value);
    default:
      return true;
  }
}

inline constexpr double kLowestNumber = std::numeric_limits<double>::lowest();
inline constexpr double kHighestNumber = std::numeric_limits<double>::max();

// Throws "WHAT is VALUE, expected LOW to HIGH", or "LOW or more", "HIGH or less", unless it is; NaN and infinity never are.
inline void expect_number(std::string_view what, double value, double low = kLowestNumber,
                          double high = kHighestNumber) {
  if (value >= low && value <= high) return;
  const bool any_low = low == kLowestNumber, any_high = high == kHighestNumber;
  const std::string expected = std::isinf(value) || (any_low && any_high) ? "a finite number"
                               : any_high                                 ? cat(low, " or more")
                               : any_low                                  ? cat(high, " or less")
                                                                          : cat(low, " to ", high);
  fail(what, " is ", value, ", expected ", expected);
}

}  // namespace tenon
