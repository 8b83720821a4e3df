#include <algorithm>

#include "base/text.h"
#include "export/tensorflow/node_rules.h"
#include "op/op.h"

namespace tenon::tensorflow {

Dims fixed(const Ints& numbers) {
  Dims dims;
  for (const int64_t number : numbers) dims.push_back(fixed(number));
  return dims;
}

Ref NodeScribe::in(int i) const { return values_[static_cast<size_t>(node_.operands[static_cast<size_t>(i)])]; }

const PortableValue& NodeScribe::type(int i) const {
  return graph_.values[static_cast<size_t>(node_.operands[static_cast<size_t>(i)])];
}

const PortableValue& NodeScribe::result(int i) const {
  return graph_.values[static_cast<size_t>(node_.results[static_cast<size_t>(i)])];
}

const PortableNode* NodeScribe::maker(int i) const {
  const int value = node_.operands[static_cast<size_t>(i)];
  for (const PortableNode& node : graph_.nodes)
    if (std::find(node.results.begin(), node.results.end(), value) != node.results.end()) return &node;
  return nullptr;
}

const PortableAttr* NodeScribe::find(std::string_view name) const {
  for (const PortableAttr& attr : node_.attrs)
    if (attr.name == name) return &attr;
  return nullptr;
}

tenon::AttrValue NodeScribe::attribute(std::string_view name) const {
  if (const PortableAttr* attr = find(name)) return attr->value;
  const tenon::OpDef* op = find_op(node_.op);
  if (op)
    for (const Signature::Attribute& attr : signature_of(*op).attributes)
      if (attr.name == name && !attr.required) return attr.missing;
  throw Lacking{cat("has no attribute '", name, "'")};
}

namespace {

template <class T>
T attribute_as(const tenon::AttrValue& value, std::string_view name) {
  if (const T* typed = std::get_if<T>(&value)) return *typed;
  throw Lacking{cat("has another type in attribute '", name, "'")};
}

}  // namespace

int64_t NodeScribe::number(std::string_view name) const {
  const PortableAttr* attr = find(name);
  if (attr && std::any_of(attr->each.begin(), attr->each.end(), [](int64_t each) { return each != 0; }))
    throw Lacking{cat("attribute '", name, "' depends on the number of rows")};
  return attribute_as<int64_t>(attribute(name), name);
}

double NodeScribe::real(std::string_view name) const { return attribute_as<double>(attribute(name), name); }
bool NodeScribe::flag(std::string_view name) const { return attribute_as<bool>(attribute(name), name); }
DType NodeScribe::dtype(std::string_view name) const { return attribute_as<DType>(attribute(name), name); }
int NodeScribe::choice(std::string_view name) const { return attribute_as<Enum>(attribute(name), name).number; }

const std::string& NodeScribe::bytes(std::string_view name) const {
  const PortableAttr* attr = find(name);
  const std::string* text = attr ? std::get_if<std::string>(&attr->value) : nullptr;
  if (!text) throw Lacking{cat("has no attribute '", name, "'")};
  return *text;
}

Dims NodeScribe::list(std::string_view name, int size) const {
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

Ints NodeScribe::fixed_list(std::string_view name, int size) const {
  Ints numbers;
  for (const PerRows& number : list(name, size)) {
    if (number.each != 0) throw Lacking{cat("attribute '", name, "' depends on the number of rows")};
    numbers.push_back(number.base);
  }
  return numbers;
}

}  // namespace tenon::tensorflow
