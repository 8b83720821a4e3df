#include "base/array_dtype.h"

#include <cstring>
#include <vector>

#include "base/half.h"

namespace tenon {
namespace {

template <class T, class Narrow>
Array converted(const std::vector<T>& values, const Type& type, Narrow narrow) {
  Array out(type);
  std::byte* to = out.bytes().data();
  for (const T value : values) {
    const auto bits = narrow(value);
    std::memcpy(to, &bits, sizeof bits);
    to += sizeof bits;
  }
  return out;
}

}  // namespace

Array as_dtype(const Array& value, DType dtype) {
  if (value.dtype() == dtype) return value;
  const Type type{dtype, value.shape()};
  if (dtype == DType::kF64) return Array(value.to<double>(), value.shape());
  const std::vector<float> values = value.to<float>();
  if (dtype == DType::kBF16) return converted(values, type, to_bf16);
  if (dtype == DType::kF16) return converted(values, type, to_f16);
  return Array(values, value.shape());
}

}  // namespace tenon
