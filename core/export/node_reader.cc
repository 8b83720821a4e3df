#include "export/node_reader.h"

#include <algorithm>
#include <cstring>

#include "base/strings.h"
#include "op/op.h"

namespace tenon {

Dims fixed(const Ints& numbers) {
  Dims dims;
  for (const int64_t number : numbers) dims.push_back(fixed(number));
  return dims;
}

PerRows sum(const PerRows& a, const PerRows& b) { return {a.base + b.base, a.each + b.each}; }
PerRows times(const PerRows& a, int64_t b) { return {a.base * b, a.each * b}; }

PerRows product(const Dims& dims, size_t begin, size_t end) {
  PerRows all = fixed(1);
  for (size_t i = begin; i < end; ++i) {
    if (all.each != 0 && dims[i].each != 0)
      throw Lacking{"has a product of two axes that depend on the number of rows"};
    all = {all.base * dims[i].base, all.base * dims[i].each + all.each * dims[i].base};
  }
  return all;
}

const PortableValue& NodeReader::type(int i) const {
  return graph_.values[static_cast<size_t>(node_.operands[static_cast<size_t>(i)])];
}

const PortableValue& NodeReader::result(int i) const {
  return graph_.values[static_cast<size_t>(node_.results[static_cast<size_t>(i)])];
}

const PortableNode* NodeReader::maker(int i) const {
  const int value = node_.operands[static_cast<size_t>(i)];
  for (const PortableNode& node : graph_.nodes)
    if (std::find(node.results.begin(), node.results.end(), value) != node.results.end()) return &node;
  return nullptr;
}

bool NodeReader::lies_inside(int i, const PerRows& size) const {
  const PortableNode* from = maker(i);
  if (!from || from->op != "constant" || size.each != 0) return false;
  const std::string& bytes = NodeReader(graph_, *from).bytes("value");
  const auto width = static_cast<size_t>(dtype_bytes(dtype(i)));
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    int64_t index = 0;
    int32_t narrow = 0;
    if (dtype(i) == DType::kI64)
      std::memcpy(&index, bytes.data() + at, sizeof index);
    else
      std::memcpy(&narrow, bytes.data() + at, sizeof narrow), index = narrow;
    if (index < 0 || index >= size.base) return false;
  }
  return true;
}

const PortableAttr* NodeReader::find(std::string_view name) const {
  for (const PortableAttr& attr : node_.attrs)
    if (attr.name == name) return &attr;
  return nullptr;
}

AttrValue NodeReader::attribute(std::string_view name) const {
  if (const PortableAttr* attr = find(name)) return attr->value;
  const OpDef* op = find_op(node_.op);
  if (op)
    for (const Signature::Attribute& attr : signature_of(*op).attributes)
      if (attr.name == name && !attr.required) return attr.missing;
  throw Lacking{cat("has no attribute '", name, "'")};
}

namespace {

template <class T>
T attribute_as(const AttrValue& value, std::string_view name) {
  if (const T* typed = std::get_if<T>(&value)) return *typed;
  throw Lacking{cat("has another type in attribute '", name, "'")};
}

}  // namespace

int64_t NodeReader::number(std::string_view name) const {
  const PortableAttr* attr = find(name);
  if (attr && std::any_of(attr->each.begin(), attr->each.end(), [](int64_t each) { return each != 0; }))
    throw Lacking{cat("attribute '", name, "' depends on the number of rows")};
  return attribute_as<int64_t>(attribute(name), name);
}

double NodeReader::real(std::string_view name) const { return attribute_as<double>(attribute(name), name); }
bool NodeReader::flag(std::string_view name) const { return attribute_as<bool>(attribute(name), name); }
DType NodeReader::dtype(std::string_view name) const { return attribute_as<DType>(attribute(name), name); }
int NodeReader::choice(std::string_view name) const { return attribute_as<Enum>(attribute(name), name).number; }

const std::string& NodeReader::bytes(std::string_view name) const {
  const PortableAttr* attr = find(name);
  const std::string* text = attr ? std::get_if<std::string>(&attr->value) : nullptr;
  if (!text) throw Lacking{cat("has no attribute '", name, "'")};
  return *text;
}

Dims NodeReader::list(std::string_view name, int size) const {
  const PortableAttr* attr = find(name);
  Ints base = attribute_as<Ints>(attribute(name), name);
  if (base.empty() && size > 0) {
    const op::Signature signature = op::parse(op::row(node_.op).signature);
    const op::Signature::Attribute* of = signature.attribute(name);
    base.assign(static_cast<size_t>(size), of && of->missing == "1" ? 1 : 0);
  }
  Dims numbers = fixed(base);
  if (attr)
    for (size_t i = 0; i < numbers.size() && i < attr->each.size(); ++i) numbers[i].each = attr->each[i];
  return numbers;
}

Ints NodeReader::fixed_list(std::string_view name, int size) const {
  Ints numbers;
  for (const PerRows& number : list(name, size)) {
    if (number.each != 0) throw Lacking{cat("attribute '", name, "' depends on the number of rows")};
    numbers.push_back(number.base);
  }
  return numbers;
}

}  // namespace tenon
