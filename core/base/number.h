// Casts of floating numbers to integers are undefined for NaN and for what the integer does not hold: ask first.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>

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

}  // namespace tenon
