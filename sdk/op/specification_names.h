// What the parts of a row are called in the specification.
#pragma once

#include <string>
#include <string_view>

#include "tenon/op/row.h"

namespace tenon::op {

std::string category_text(Category category);
std::string values_text(Values values);
std::string units_text(const Units& units);
// The dtypes of a signature's class, "f32 bf16 f16 f64" for 'F'.
std::string dtypes_text(char dtypes);
// "list" -> "TENON_ATTR_LIST".
std::string attribute_type(std::string_view type);
// The C enum with the numbers of an enumeration: "act" -> "tenon_act".
std::string c_enumeration(std::string_view name);

}  // namespace tenon::op
