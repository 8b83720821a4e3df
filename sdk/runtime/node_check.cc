#include "runtime/node_check.h"

#include <algorithm>

#include "tenon/plugin/op_attributes.h"

namespace tenon::plugin {
namespace {

// The next word of a text, which loses it; empty at its end.
std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

// The three parts of "x:F [y:F] ; axis:i64 batch:i64=0 -> y".
struct SignatureParts {
  std::string_view operands, attributes, results;
  explicit SignatureParts(std::string_view text) {
    const size_t arrow = text.find("->"), semicolon = text.find(';');
    operands = text.substr(0, std::min(arrow, semicolon));
    if (semicolon != std::string_view::npos) attributes = text.substr(semicolon + 1, arrow - semicolon - 1);
    results = text.substr(arrow + 2);
  }
};

bool is_in_class(int32_t dtype, char dtypes) {
  const bool integer = dtype == TENON_I32 || dtype == TENON_I64, boolean = dtype == TENON_BOOL;
  if (dtype_bytes(dtype) == 0 || dtypes == 'A') return true;  // what is not known here is a kernel's to refuse
  if (dtypes == 'F') return is_float(dtype);
  if (dtypes == 'I') return integer;
  if (dtypes == 'B') return boolean;
  return is_float(dtype) || integer || (dtypes == 'M' && boolean);
}

std::string operand_fault(const NodeView& node, std::string_view words) {
  int n = 0;
  bool variadic = false;
  for (std::string_view word = next_word(words); !word.empty(); word = next_word(words), ++n) {
    const bool optional = word.front() == '[';
    const std::string_view name = word.substr(optional, word.find(':') - optional);
    const char dtypes = word[word.find(':') + 1];
    variadic = word.substr(word.size() - 2) == "..";
    for (int i = n; i < (variadic ? std::max(node.operands(), n + 1) : n + 1); ++i) {
      const std::string what = "operand " + std::to_string(i) + " '" + std::string(name) + "'";
      if (!node.has(i) && !optional) return what + " is missing";
      if (node.has(i) && !is_in_class(node.in(i).dtype(), dtypes))
        return what + " is " + dtype_name(node.in(i).dtype()) + ", which the op does not take";
    }
  }
  if (!variadic && node.operands() > n)
    return "has " + std::to_string(node.operands()) + " operands, expected " + std::to_string(n) + " at the most";
  return {};
}

std::string result_fault(const NodeView& node, std::string_view words) {
  int n = 0;
  for (std::string_view word = next_word(words); !word.empty(); word = next_word(words), ++n)
    if (word.front() != '[' && !node.has_result(n))
      return "result " + std::to_string(n) + " '" + std::string(word) + "' is missing";
  if (node.op() == "all_reduce") n = node.operands();
  if (node.results() > n)
    return "has " + std::to_string(node.results()) + " results, expected " + std::to_string(n) + " at the most";
  return {};
}

int32_t attribute_type(std::string_view name) {
  if (name == "i64") return TENON_ATTR_I64;
  if (name == "f64") return TENON_ATTR_F64;
  if (name == "bool") return TENON_ATTR_BOOL;
  if (name == "dtype") return TENON_ATTR_DTYPE;
  if (name == "enum") return TENON_ATTR_ENUM;
  return name == "bytes" ? TENON_ATTR_BYTES : TENON_ATTR_LIST;
}

std::string attribute_fault(const NodeView& node, std::string_view words) {
  for (std::string_view word = next_word(words); !word.empty(); word = next_word(words)) {
    const size_t colon = word.find(':'), equals = word.find('=');
    const std::string_view name = word.substr(0, colon);
    const tenon_attr* a = node.find(name);
    if (!a && equals == std::string_view::npos) return "attribute '" + std::string(name) + "' is missing";
    const std::string_view type = word.substr(colon + 1, std::min(equals, word.size()) - colon - 1);
    if (a && a->type != attribute_type(type)) return "attribute '" + std::string(name) + "' is no " + std::string(type);
  }
  return {};
}

std::string fault_of(const NodeView& node, const SignatureParts& signature) {
  if (std::string fault = operand_fault(node, signature.operands); !fault.empty()) return fault;
  if (std::string fault = result_fault(node, signature.results); !fault.empty()) return fault;
  if (std::string fault = attribute_fault(node, signature.attributes); !fault.empty()) return fault;
  return shape_fault(node);
}

}  // namespace

std::string node_fault(const NodeView& node) {
  const std::string_view signature = signature_of(node.op());
  if (signature.empty() || node.version() != 1) return {};
  const std::string fault = fault_of(node, SignatureParts(signature));
  return fault.empty() ? fault : std::string(node.op()) + " '" + std::string(node.name()) + "' " + fault;
}

}  // namespace tenon::plugin
