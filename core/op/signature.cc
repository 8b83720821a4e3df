#include "op/signature.h"

#include <charconv>
#include <cstdlib>

namespace tenon {
namespace {

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t i = 0; i < text.size();) {
    const size_t start = text.find_first_not_of(' ', i);
    if (start == std::string_view::npos) break;
    const size_t end = std::min(text.find(' ', start), text.size());
    out.push_back(text.substr(start, end - start));
    i = end;
  }
  return out;
}

Signature::Operand parse_operand(std::string_view word) {
  Signature::Operand o;
  if (word.front() == '[') {
    o.optional = true;
    word = word.substr(1, word.size() - 2);
  }
  if (word.ends_with("..")) {
    o.variadic = true;
    word.remove_suffix(2);
  }
  const size_t colon = word.find(':');
  if (colon == std::string_view::npos || colon + 2 != word.size()) fail("signature: malformed operand '", word, "'");
  o.name = word.substr(0, colon);
  o.dtypes = word[colon + 1];
  return o;
}

AttrValue parse_value(std::string_view type, std::string_view text) {
  const std::string s(text);
  if (type == "i64") return static_cast<int64_t>(std::strtoll(s.c_str(), nullptr, 10));
  if (type == "f64") return std::strtod(s.c_str(), nullptr);
  if (type == "bool") return s == "true";
  if (type == "dtype") return dtype_from_name(text);
  if (type == "enum") return Enum{static_cast<int32_t>(std::atoi(s.c_str()))};
  if (type == "bytes") return s;
  if (type == "list") return std::vector<int64_t>();
  fail("signature: unknown attribute type '", type, "'");
}

Signature::Attribute parse_attribute(std::string_view word) {
  Signature::Attribute a;
  const size_t equals = word.find('=');
  const std::string_view head = word.substr(0, equals);
  const size_t colon = head.find(':');
  if (colon == std::string_view::npos) fail("signature: malformed attribute '", word, "'");
  a.name = head.substr(0, colon);
  a.type = head.substr(colon + 1);
  a.required = equals == std::string_view::npos;
  a.missing = parse_value(a.type, a.required ? "" : word.substr(equals + 1));
  return a;
}

}  // namespace

Signature parse_signature(std::string_view text) {
  Signature s;
  const size_t arrow = text.find("->");
  if (arrow == std::string_view::npos) fail("signature: '", text, "' has no results");
  const size_t semicolon = text.find(';');
  const std::string_view head = text.substr(0, std::min(semicolon, arrow));
  for (std::string_view w : words(head)) s.operands.push_back(parse_operand(w));
  if (semicolon != std::string_view::npos)
    for (std::string_view w : words(text.substr(semicolon + 1, arrow - semicolon - 1)))
      s.attributes.push_back(parse_attribute(w));
  for (std::string_view w : words(text.substr(arrow + 2))) s.results.emplace_back(w);
  return s;
}

std::string to_text(const OpDef& op) { return cat(op.name, "(", op.signature, ")"); }

}  // namespace tenon
