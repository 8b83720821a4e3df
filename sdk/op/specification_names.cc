#include "op/specification_names.h"

#include <algorithm>

namespace tenon::op {
namespace {

std::string units_rule(Units::Rule rule) {
  switch (rule) {
    case Units::kApart:
      return "each keeps its own node";
    case Units::kElements:
      return "joined along axis 0; rank 0 beside other shapes holds for every row";
    case Units::kRows:
      return "joined along axis 0, as a row of each result comes from one row of the operands";
    case Units::kAxis:
      return "joined along axis 0, unless `axis` is 0";
    case Units::kAxes:
      return "joined along axis 0, unless `axes` has 0";
    case Units::kLastAxis:
      return "joined along axis 0, unless the rank is 1";
    default:
      return "joined along axis 0 where shapes and attributes allow it";
  }
}

}  // namespace

std::string category_text(Category category) {
  static const char* const kTexts[] = {"source",    "random",    "elementwise", "movement", "image",         "sort",
                                       "reduction", "product",   "convolution", "pooling",  "normalization", "softmax",
                                       "attention", "recurrent", "collective",  "update"};
  return kTexts[static_cast<int>(category)];
}

std::string values_text(Values values) {
  static const char* const kTexts[] = {"computed", "moved from the operand", "taken from operands, pads or negated",
                                       "chosen from operands by order"};
  return kTexts[static_cast<int>(values)];
}

std::string units_text(const Units& units) {
  std::string out = units_rule(units.rule);
  if (!units.whole.empty()) out += "; all have the same " + std::string(units.whole);
  if (!units.sums.empty()) out += "; summed over them: " + std::string(units.sums);
  return out;
}

std::string dtypes_text(char dtypes) {
  static const std::string floats = "f32 bf16 f16 f64", integers = "i32 i64";
  switch (dtypes) {
    case 'F':
      return floats;
    case 'I':
      return integers;
    case 'N':
      return floats + " " + integers;
    case 'B':
      return "bool";
    case 'M':
      return floats + " " + integers + " bool";
    default:
      return floats + " " + integers + " u8 bool";
  }
}

std::string attribute_type(std::string_view type) {
  std::string out = "TENON_ATTR_" + std::string(type);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  return out;
}

std::string c_enumeration(std::string_view name) {
  return name == "extreme" ? "tenon_reduce" : "tenon_" + std::string(name);  // two of its four
}

}  // namespace tenon::op
