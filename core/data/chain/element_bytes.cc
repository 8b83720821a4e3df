#include "data/chain/element_bytes.h"

#include "base/caught.h"
#include "base/strings.h"

namespace tenon {
namespace {

template <class T>
void append_number(T value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
Result<T> take_number(std::string_view& bytes) {
  T value;
  if (bytes.size() < sizeof value) return invalid("an element is cut short");
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

Result<Type> take_type(std::string_view& bytes) {
  TENON_ASSIGN(const int32_t dtype, take_number<int32_t>(bytes));
  TENON_ASSIGN(const uint32_t rank, take_number<uint32_t>(bytes));
  if (dtype_bytes(static_cast<DType>(dtype)) <= 0 || rank > kMaxRank) return invalid("an element has no such type");
  std::vector<int64_t> dims(rank);
  for (int64_t& dim : dims) {
    TENON_ASSIGN(dim, take_number<int64_t>(bytes));
  }
  return caught([&]() -> Result<Type> { return Type{static_cast<DType>(dtype), Shape(dims)}; });
}

Result<Array> take_array(std::string_view& bytes) {
  TENON_ASSIGN(const Type type, take_type(bytes));
  return caught([&]() -> Result<Array> {
    const int64_t elements = type.shape.elements();
    const auto most = static_cast<int64_t>(bytes.size()) / dtype_bytes(type.dtype);
    if (elements > most) return invalid("an element is cut short");
    const auto* from = reinterpret_cast<const std::byte*>(bytes.data());
    Array out(type, {from, from + type.bytes()});
    bytes.remove_prefix(static_cast<size_t>(type.bytes()));
    return out;
  });
}

}  // namespace

void append_text(std::string_view text, std::string& bytes) {
  append_number(static_cast<uint32_t>(text.size()), bytes);
  bytes += text;
}

Result<std::string_view> take_text(std::string_view& bytes) {
  TENON_ASSIGN(const uint32_t size, take_number<uint32_t>(bytes));
  if (bytes.size() < size) return invalid("an element is cut short");
  const std::string_view text = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return text;
}

void append_element(const Element& element, std::string& bytes) {
  append_number(static_cast<uint32_t>(element.size()), bytes);
  for (const auto& [name, array] : element) {
    append_text(name, bytes);
    append_number(static_cast<int32_t>(array.dtype()), bytes);
    append_number(static_cast<uint32_t>(array.shape().rank()), bytes);
    for (const int64_t dim : array.shape()) append_number(dim, bytes);
    bytes.append(reinterpret_cast<const char*>(array.bytes().data()), array.bytes().size());
  }
}

Result<Element> take_element(std::string_view& bytes) {
  TENON_ASSIGN(const uint32_t features, take_number<uint32_t>(bytes));
  Element out;
  for (uint32_t i = 0; i < features; ++i) {
    TENON_ASSIGN(const std::string_view name, take_text(bytes));
    TENON_ASSIGN(Array array, take_array(bytes));
    out.insert_or_assign(std::string(name), std::move(array));
  }
  return out;
}

}  // namespace tenon
