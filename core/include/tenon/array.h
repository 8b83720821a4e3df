// Numbers in the host's memory with an element type and a shape: what functions are called with and what they give.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tenon/types.h"

namespace tenon {

// The element type that a C++ type is kept as: float, double, int32_t, int64_t, uint8_t, bool.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kF64;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::kI64;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::kU8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};

// A value: copies have memory of their own. Dense and row-major. A moved-from one is empty: f32[0].
class Array {
 public:
  Array() : Array(Type{DType::kF32, {0}}) {}
  // Zeros.
  explicit Array(const Type& type);
  // Throws Error unless there are as many bytes as the type needs.
  Array(const Type& type, std::vector<std::byte> bytes);
  // [n], or of the shape, whose elements there have to be.
  template <class T>
  Array(std::span<const T> values) : Array(values, {static_cast<int64_t>(values.size())}) {}  // NOLINT: implicit
  template <class T>
  Array(std::span<const T> values, const Shape& shape) : Array({DTypeOf<T>::value, shape}, bytes_of(values)) {}
  template <class T>
  Array(const std::vector<T>& values) : Array(std::span<const T>(values)) {}  // NOLINT: implicit by design
  template <class T>
  Array(const std::vector<T>& values, const Shape& shape) : Array(std::span<const T>(values), shape) {}
  template <class T>
  Array(std::initializer_list<T> values) : Array(std::span<const T>(values.begin(), values.size())) {}
  template <class T>
  Array(std::initializer_list<T> values, const Shape& shape)
      : Array(std::span<const T>(values.begin(), values.size()), shape) {}
  // A scalar.
  template <class T>
  requires std::is_arithmetic_v<T> Array(T value)
      : Array(std::span<const T>(&value, 1), {}) {}  // NOLINT: implicit by design

  const Type& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  int64_t dim(int axis) const { return type_.shape[axis]; }
  int64_t elements() const { return type_.shape.elements(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<std::byte> bytes() { return bytes_; }
  // Its memory, which it gives up.
  std::vector<std::byte> take_bytes() && {
    Array gone = std::move(*this);
    return std::move(gone.bytes_);
  }

  // All elements, converted. Integers beyond T's range throw Error.
  template <class T>
  std::vector<T> to() const;
  // The only element. Throws Error when there are none or several.
  double item() const;
  double mean() const;  // of all elements; 0 of none
  double sum() const;
  // Along axis 0: rows [begin, begin + count), and one row without that axis. Throw Error when there are none such.
  Array rows(int64_t begin, int64_t count) const;
  Array row(int64_t index) const;

 private:
  template <class T>
  static std::vector<std::byte> bytes_of(std::span<const T> values) {
    std::vector<std::byte> out(values.size_bytes());
    if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
    return out;
  }

  Type type_;
  std::vector<std::byte> bytes_;
};

using Arrays = std::map<std::string, Array>;

// "f32[2,2] 1 2 3 4", of large ones the first and last elements.
std::string to_text(const Array& array);

template <>
std::vector<float> Array::to<float>() const;
template <>
std::vector<double> Array::to<double>() const;
template <>
std::vector<int32_t> Array::to<int32_t>() const;
template <>
std::vector<int64_t> Array::to<int64_t>() const;
template <>
std::vector<uint8_t> Array::to<uint8_t>() const;

}  // namespace tenon
