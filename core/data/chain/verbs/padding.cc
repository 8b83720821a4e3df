#include <algorithm>
#include <cstring>

#include "base/array_dtype.h"
#include "base/strings.h"
#include "data/chain/verbs/batch_nodes.h"

namespace tenon {
namespace {

std::vector<std::byte> element_of(DType dtype, double value) {
  std::vector<std::byte> out(static_cast<size_t>(dtype_bytes(dtype)));
  convert_numbers(DType::kF64, std::as_bytes(std::span(&value, 1)), dtype, out.data());
  return out;
}

void fill_with(const std::vector<std::byte>& element, size_t count, std::byte* to) {
  if (std::all_of(element.begin(), element.end(), [](std::byte b) { return b == std::byte{0}; })) {
    std::memset(to, 0, count * element.size());
    return;
  }
  for (size_t i = 0; i < count; ++i) std::memcpy(to + i * element.size(), element.data(), element.size());
}

// Copies an array of `from`'s shape into the corner of one of `to`'s, from `axis` on.
void copy_corner(const Shape& from, const Shape& to, int axis, size_t bytes, const std::byte* source,
                 std::byte* target) {
  if (axis == from.rank()) {
    std::memcpy(target, source, bytes);
    return;
  }
  size_t below_from = bytes, below_to = bytes;
  for (int a = axis + 1; a < from.rank(); ++a) {
    below_from *= static_cast<size_t>(from[a]);
    below_to *= static_cast<size_t>(to[a]);
  }
  if (below_from == below_to) {
    if (from[axis] > 0) std::memcpy(target, source, static_cast<size_t>(from[axis]) * below_from);
    return;
  }
  for (int64_t i = 0; i < from[axis]; ++i)
    copy_corner(from, to, axis + 1, bytes, source + static_cast<size_t>(i) * below_from,
                target + static_cast<size_t>(i) * below_to);
}

const Array& feature_of(const Element& element, const std::string& name) {
  const auto found = element.find(name);
  if (found == element.end()) fail("the element has no feature '", name, "', the first of its batch has");
  return found->second;
}

Type stacked(const Type& type, size_t count, const std::vector<int64_t>& dims) {
  std::vector<int64_t> all = {static_cast<int64_t>(count)};
  all.insert(all.end(), dims.begin(), dims.end());
  return {type.dtype, Shape(all)};
}

}  // namespace

Element stack_elements(std::vector<Element> elements) {
  Element out;
  for (const auto& [name, first] : elements.at(0)) {
    Array all(stacked(first.type(), elements.size(), first.shape().vec()));
    std::byte* to = all.bytes().data();
    for (const Element& element : elements) {
      const Array& array = feature_of(element, name);
      if (!(array.type() == first.type()))
        fail("batch: feature '", name, "' is ", array.type().str(), ", and ", first.type().str(),
             " in the first element of the batch; padded_batch pads them");
      to = std::copy(array.bytes().begin(), array.bytes().end(), to);
    }
    out.emplace(name, std::move(all));
  }
  return out;
}

std::vector<int64_t> Padding::padded(const std::string& name, const Type& type) const {
  const auto found = shapes.find(name);
  std::vector<int64_t> dims =
      found != shapes.end() ? found->second : std::vector<int64_t>(static_cast<size_t>(type.shape.rank()), -1);
  if (static_cast<int>(dims.size()) != type.shape.rank())
    fail("padded_batch: feature '", name, "' is ", type.str(), ", and its padded shape has ", dims.size(), " axes");
  for (int64_t& dim : dims)
    if (dim < 0) dim = unknown_axis;
  return dims;
}

void Padding::copy(const std::string& name, const Array& from, const Shape& to_shape, std::byte* to) const {
  for (int a = 0; a < from.shape().rank(); ++a)
    if (from.dim(a) > to_shape[a])
      fail("padded_batch: feature '", name, "' is ", from.type().str(), ", expected at most ", to_shape.str());
  const auto bytes = static_cast<size_t>(dtype_bytes(from.dtype()));
  if (from.shape() == to_shape) {
    std::ranges::copy(from.bytes(), to);
    return;
  }
  const auto value = values.find(name);
  fill_with(element_of(from.dtype(), value == values.end() ? 0.0 : value->second),
            static_cast<size_t>(to_shape.elements()), to);
  copy_corner(from.shape(), to_shape, 0, bytes, from.bytes().data(), to);
}

Element Padding::stack(std::vector<Element> elements) const {
  Element out;
  for (const auto& [name, first] : elements.at(0)) {
    std::vector<int64_t> dims = padded(name, first.type());
    const std::vector<int64_t> asked = dims;
    for (const Element& element : elements) {
      const Array& array = feature_of(element, name);
      if (array.dtype() != first.dtype() || array.shape().rank() != first.shape().rank())
        fail("padded_batch: feature '", name, "' is ", array.type().str(), ", and ", first.type().str(),
             " in the first element of the batch");
      for (size_t a = 0; a < dims.size(); ++a)
        if (asked[a] < 0) dims[a] = std::max(dims[a], array.dim(static_cast<int>(a)));
    }
    Array all(stacked(first.type(), elements.size(), dims));
    const size_t bytes = all.bytes().size() / elements.size();
    for (size_t i = 0; i < elements.size(); ++i)
      copy(name, feature_of(elements[i], name), Shape(dims), all.bytes().data() + i * bytes);
    out.emplace(name, std::move(all));
  }
  return out;
}

}  // namespace tenon
