#include "op/signature.h"

#include <charconv>
#include <cstdlib>

namespace tenon {
namespace {

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

}  // namespace

Signature parse_signature(std::string_view text) {
  op::Signature parsed = op::parse(text);
  Signature s{std::move(parsed.operands), {}, std::move(parsed.results)};
  for (const op::Signature::Attribute& a : parsed.attributes)
    s.attributes.push_back({std::string(a.name), std::string(a.type), a.required, parse_value(a.type, a.missing)});
  return s;
}

}  // namespace tenon
