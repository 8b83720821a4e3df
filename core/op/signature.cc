#include "op/signature.h"

#include <charconv>
#include <cstdlib>

#include "tenon/op/enumerations.h"

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

Signature read_signature(const op::Row& row) {
  op::Signature parsed = op::parse(row.signature);
  Signature s{std::move(parsed.operands), {}, std::move(parsed.results), op::shape_rule(row)};
  for (const op::Signature::Attribute& a : parsed.attributes)
    s.attributes.push_back({std::string(a.name), std::string(a.type), a.required, parse_value(a.type, a.missing),
                            op::enumeration(a.enumeration)});
  return s;
}

}  // namespace tenon
