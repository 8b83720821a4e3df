#include "tenon/plugin/op_attributes.h"

namespace tenon::plugin {
namespace {

// Whether a signature, "x:F ; axis:i64 batch:i64=0 -> y", has the attribute.
bool has_attribute(std::string_view signature, std::string_view name) {
  const size_t from = signature.find(';');
  if (from == std::string_view::npos) return false;
  for (size_t at = signature.find(name, from); at != std::string_view::npos; at = signature.find(name, at + 1))
    if (signature[at - 1] == ' ' && signature.substr(at + name.size(), 1) == ":") return true;
  return false;
}

struct EnumAttribute {
  std::string_view op, attribute;  // no op: of any
  int32_t least, most;
};

constexpr EnumAttribute kEnums[] = {
    {"compare", "kind", TENON_EQ, TENON_GE},
    {"scatter", "kind", TENON_SCATTER_ADD, TENON_SCATTER_SET},
    {"argmax", "kind", TENON_MAX, TENON_MIN},
    {"", "kind", TENON_SUM, TENON_MIN},
    {"", "precision", TENON_PRECISION_DEFAULT, TENON_PRECISION_HIGHEST},
    {"", "act", TENON_ACT_NONE, TENON_ACT_HARD_SWISH},
    {"", "method", TENON_NEAREST, TENON_BILINEAR},
    {"", "coords", TENON_LEGACY, TENON_ALIGN_CORNERS},
    {"", "fill", TENON_FILL_CONSTANT, TENON_FILL_WRAP},
};

bool is_enumerator(std::string_view op, std::string_view attribute, int64_t value) {
  for (const EnumAttribute& e : kEnums)
    if (e.attribute == attribute && (e.op.empty() || e.op == op)) return value >= e.least && value <= e.most;
  return true;
}

bool is_dtype(int64_t dtype) { return dtype >= TENON_F32 && dtype <= TENON_BOOL; }

bool is_hint(std::string_view name) { return name.substr(0, 6) == "tenon."; }

}  // namespace

std::string_view unknown_attribute(const NodeView& node) {
  const std::string_view signature = signature_of(node.op());
  if (signature.empty() || node.version() != 1) return {};
  for (int i = 0; i < node.attributes(); ++i)
    if (const std::string_view name = node.attribute_name(i); !is_hint(name) && !has_attribute(signature, name))
      return name;
  return {};
}

std::string unknown_value(const NodeView& node) {
  for (int i = 0; i < node.operands(); ++i)
    if (node.has(i) && !is_dtype(node.in(i).dtype())) return "dtype " + std::to_string(node.in(i).dtype());
  for (int i = 0; i < node.results(); ++i)
    if (node.has_result(i) && !is_dtype(node.out(i).dtype())) return "dtype " + std::to_string(node.out(i).dtype());
  for (int i = 0; i < node.attributes(); ++i) {
    const std::string_view name = node.attribute_name(i);
    const int32_t type = node.find(name)->type;
    const int64_t value = type == TENON_ATTR_ENUM || type == TENON_ATTR_DTYPE ? node.i64(name) : 0;
    const bool none = name == "out" && value == 0;  // the operands'
    if (type == TENON_ATTR_DTYPE && !is_dtype(value) && !none)
      return std::string(name) + " = dtype " + std::to_string(value);
    if (type == TENON_ATTR_ENUM && !is_hint(name) && !is_enumerator(node.op(), name, value))
      return std::string(name) + " = " + std::to_string(value);
  }
  return {};
}

}  // namespace tenon::plugin
