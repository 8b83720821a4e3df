#include "tenon/plugin/op_attributes.h"

#include <algorithm>

#include "tenon/op/enumerations.h"
#include "tenon/op/table.h"

namespace tenon::plugin {
namespace {

using Attribute = op::Signature::Attribute;

bool is_dtype(int64_t dtype) { return dtype >= TENON_F32 && dtype <= TENON_BOOL; }

bool is_hint(std::string_view name) { return name.substr(0, 6) == "tenon."; }

// In an op that is not published, any number may mean something.
bool is_enumerator(const Attribute* attribute, int64_t value) {
  const op::Enumeration* numbers = attribute ? op::enumeration(attribute->enumeration) : nullptr;
  return !numbers || numbers->has(value);
}

std::string unknown_dtype(const NodeView& node) {
  for (int i = 0; i < node.operands(); ++i)
    if (node.has(i) && !is_dtype(node.in(i).dtype())) return "dtype " + std::to_string(node.in(i).dtype());
  for (int i = 0; i < node.results(); ++i)
    if (node.has_result(i) && !is_dtype(node.out(i).dtype())) return "dtype " + std::to_string(node.out(i).dtype());
  return {};
}

}  // namespace

const op::Signature* signature_of(const NodeView& node) {
  static const std::vector<op::Signature> signatures = [] {
    std::vector<op::Signature> all;
    for (const op::Row* row : op::kRows) all.push_back(op::parse(row->signature));
    return all;
  }();
  const std::string_view name = node.op();
  const auto row = std::find_if(op::kRows.begin(), op::kRows.end(), [&](const op::Row* r) { return r->name == name; });
  if (row == op::kRows.end() || node.version() != 1) return nullptr;
  return &signatures[static_cast<size_t>(row - op::kRows.begin())];
}

std::string_view unknown_attribute(const NodeView& node) {
  const op::Signature* signature = signature_of(node);
  if (!signature) return {};
  for (int i = 0; i < node.attributes(); ++i)
    if (const std::string_view name = node.attribute_name(i); !is_hint(name) && !signature->attribute(name))
      return name;
  return {};
}

std::string unknown_value(const NodeView& node) {
  if (std::string dtype = unknown_dtype(node); !dtype.empty()) return dtype;
  const op::Signature* signature = signature_of(node);
  for (int i = 0; i < node.attributes(); ++i) {
    const std::string_view name = node.attribute_name(i);
    const int32_t type = node.find(name)->type;
    const int64_t value = type == TENON_ATTR_ENUM || type == TENON_ATTR_DTYPE ? node.i64(name) : 0;
    const bool none = name == "out" && value == 0;  // the operands'
    if (type == TENON_ATTR_DTYPE && !is_dtype(value) && !none)
      return std::string(name) + " = dtype " + std::to_string(value);
    if (type == TENON_ATTR_ENUM && !is_hint(name) &&
        !is_enumerator(signature ? signature->attribute(name) : nullptr, value))
      return std::string(name) + " = " + std::to_string(value);
  }
  return {};
}

}  // namespace tenon::plugin
