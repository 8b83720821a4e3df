// The elements of an array as numbers of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/half.h"
#include "tenon/types.h"

namespace tenon {

// take(number) for each, as one of a wider kind, which holds it as it is: floats as double, integers as int64_t.
template <class Take>
void each_number(DType dtype, std::span<const std::byte> bytes, Take take) {
  const auto walk = [&]<class T>(T, auto widen) {
    for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, &bytes[at], sizeof value);
      take(widen(value));
    }
  };
  const auto as_double = [](auto v) { return static_cast<double>(v); };
  const auto as_integer = [](auto v) { return static_cast<int64_t>(v); };
  switch (dtype) {
    case DType::kF32:
      return walk(float(), as_double);
    case DType::kF64:
      return walk(double(), as_double);
    case DType::kBF16:
      return walk(uint16_t(), [](uint16_t v) { return static_cast<double>(from_bf16(v)); });
    case DType::kF16:
      return walk(uint16_t(), [](uint16_t v) { return static_cast<double>(from_f16(v)); });
    case DType::kI32:
      return walk(int32_t(), as_integer);
    case DType::kI64:
      return walk(int64_t(), as_integer);
    default:
      return walk(uint8_t(), as_integer);
  }
}

}  // namespace tenon
