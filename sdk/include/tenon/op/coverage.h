// Which ops a table must have, asked when it is compiled:
//
//   constexpr MyRow kRows[] = {{"add", add_loop}, ..};
//   #define MY_CHECK(name, Name) static_assert(tenon::op::has_if_arithmetic(kRows, #name), "no loop for " #name);
//   TENON_FOR_EACH_OP(MY_CHECK)
//
// C++17, header only, constants.
#pragma once

#include <string_view>

#include "tenon/op/names.h"
#include "tenon/op/table.h"

namespace tenon::op {

// Whether one of the rows, whose member `op` is its name, is of this op.
template <class Rows>
constexpr bool has(const Rows& rows, std::string_view op) {
  for (const auto& row : rows)
    if (row.op == op) return true;
  return false;
}

// The same, and true of any op that is no primitive, or none that arithmetic_operands (table.h) counts operands of.
template <class Rows>
constexpr bool has_if_arithmetic(const Rows& rows, std::string_view op) {
  const Row& about = row(op);
  return about.level == Level::kComposite || arithmetic_operands(about) == 0 || has(rows, op);
}

}  // namespace tenon::op
