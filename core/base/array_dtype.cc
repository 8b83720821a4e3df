#include "base/array_dtype.h"

#include <cstring>

#include "base/each_number.h"
#include "base/number.h"
#include "base/strings.h"

namespace tenon {
namespace {

template <class T>
T narrowed_integer(int64_t value) {
  if (!fits<T>(static_cast<double>(value)))
    fail("the data hold ", value, ", expected a number of ", dtype_name(DTypeOf<T>::value));
  return static_cast<T>(value);
}

}  // namespace

void convert_numbers(DType from, std::span<const std::byte> numbers, DType dtype, std::byte* to) {
  const auto each = [&](auto narrow) {
    each_number(from, numbers, [&](auto value) {
      const auto narrowed = narrow(value);
      std::memcpy(to, &narrowed, sizeof narrowed);
      to += sizeof narrowed;
    });
  };
  switch (dtype) {
    case DType::kF64:
      return each([](auto v) { return static_cast<double>(v); });
    case DType::kBF16:
      return each([](auto v) { return to_bf16(static_cast<float>(v)); });
    case DType::kF16:
      return each([](auto v) { return to_f16(static_cast<float>(v)); });
    case DType::kI32:
      return each([](auto v) { return narrowed_integer<int32_t>(static_cast<int64_t>(v)); });
    case DType::kI64:
      return each([](auto v) { return static_cast<int64_t>(v); });
    case DType::kU8:
      return each([](auto v) { return narrowed_integer<uint8_t>(static_cast<int64_t>(v)); });
    case DType::kBool:
      return each([](auto v) { return static_cast<uint8_t>(v != 0); });
    default:
      return each([](auto v) { return static_cast<float>(v); });
  }
}

Array as_dtype(const Array& value, DType dtype) {
  if (value.dtype() == dtype) return value;
  Array out(Type{dtype, value.shape()});
  convert_numbers(value.dtype(), value.bytes(), dtype, out.bytes().data());
  return out;
}

}  // namespace tenon
