// Which rule an op has. One that a row of the table of ops has and that nobody defines does not link.
#include "tenon/op/table.h"
#include "op/shapes/rules.h"

namespace tenon::op {

ShapeRule shape_rule(const Row& row) {
#define TENON_SHAPE_RULE(op, name) shapes::op,
  static constexpr ShapeRule kRules[] = {TENON_FOR_EACH_OP(TENON_SHAPE_RULE)};
#undef TENON_SHAPE_RULE
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i] == &row || kRows[i]->name == row.name) return kRules[i];
  return nullptr;
}

}  // namespace tenon::op
