#include "tenon/array.h"

#include <cmath>

#include "base/each_number.h"
#include "base/number.h"
#include "base/strings.h"

namespace tenon {
namespace {

template <class T, class V>
T narrowed(V value, const Type& type) {
  if constexpr (std::is_integral_v<T>)
    if (!fits<T>(static_cast<double>(value)))
      fail("an array ", type.str(), " holds ", value, ", expected a number of ", dtype_name(DTypeOf<T>::value));
  return static_cast<T>(value);
}

template <class T>
std::vector<T> converted(const Array& array) {
  std::vector<T> out;
  out.reserve(static_cast<size_t>(array.elements()));
  each_number(array.dtype(), array.bytes(), [&](auto v) { out.push_back(narrowed<T>(v, array.type())); });
  return out;
}

}  // namespace

Array::Array(const Type& type) : type_(type), bytes_(static_cast<size_t>(type.bytes())) {}

Array::Array(const Type& type, std::vector<std::byte> bytes) : type_(type), bytes_(std::move(bytes)) {
  const auto size = dtype_bytes(type.dtype);
  if (static_cast<int64_t>(bytes_.size()) != type.bytes())
    fail("an array ", type.str(), " has ", type.shape.elements(), " elements, given ",
         static_cast<int64_t>(bytes_.size()) / std::max<int64_t>(size, 1));
}

template <>
std::vector<float> Array::to<float>() const {
  return converted<float>(*this);
}
template <>
std::vector<double> Array::to<double>() const {
  return converted<double>(*this);
}
template <>
std::vector<int32_t> Array::to<int32_t>() const {
  return converted<int32_t>(*this);
}
template <>
std::vector<int64_t> Array::to<int64_t>() const {
  return converted<int64_t>(*this);
}
template <>
std::vector<uint8_t> Array::to<uint8_t>() const {
  return converted<uint8_t>(*this);
}

double Array::item() const {
  if (elements() != 1) fail("an array ", type_.str(), " has ", elements(), " elements, expected one");
  double value = 0;
  each_number(dtype(), bytes_, [&](auto v) { value = static_cast<double>(v); });
  return value;
}

double Array::sum() const {
  double total = 0;
  each_number(dtype(), bytes_, [&](auto v) { total += static_cast<double>(v); });
  return total;
}

double Array::mean() const { return elements() == 0 ? 0 : sum() / static_cast<double>(elements()); }

Array Array::rows(int64_t begin, int64_t count) const {
  if (shape().rank() == 0) fail("an array ", type_.str(), " has no rows");
  if (begin < 0 || count < 0 || begin > dim(0) || count > dim(0) - begin)
    fail("rows ", begin, " to ", begin + count, " of an array ", type_.str(), ", expected 0 to ", dim(0));
  Type type = type_;
  type.shape.set(0, count);
  const size_t row = dim(0) == 0 ? 0 : bytes_.size() / static_cast<size_t>(dim(0));
  const auto from = bytes_.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(begin) * row);
  return Array(type, {from, from + static_cast<ptrdiff_t>(static_cast<size_t>(count) * row)});
}

Array Array::row(int64_t index) const {
  Array out = rows(index, 1);
  out.type_.shape = Shape(shape().dims().subspan(1));
  return out;
}

std::string to_text(const Array& array) {
  constexpr int64_t kEnds = 8;
  const int64_t n = array.elements();
  const auto size = static_cast<size_t>(dtype_bytes(array.dtype()));
  std::string out = array.type().str();
  const auto add = [&](int64_t begin, int64_t end) {
    const auto part = array.bytes().subspan(static_cast<size_t>(begin) * size, static_cast<size_t>(end - begin) * size);
    each_number(array.dtype(), part, [&](auto v) { append(out, cat(" ", v)); });
  };
  if (n <= 2 * kEnds) {
    add(0, n);
  } else {
    add(0, kEnds);
    append(out, " ..");
    add(n - kEnds, n);
  }
  return out;
}

}  // namespace tenon
