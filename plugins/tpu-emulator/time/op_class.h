// What kind of work an op is, and how many operations an element of it costs the vector unit.
#pragma once

#include <string_view>

#include "machine/pieces.h"
#include "tenon/plugin/graph.h"

namespace tpu {

struct OpClass {
  PieceKind kind = PieceKind::kElementwise;
  double vector_ops = 1;  // for each element
  bool dear = false;      // transcendental, random: computed once
  double passes = 1;
};

// The class of an op; of one that is not in the table: elementwise.
OpClass op_class(const tenon::plugin::NodeView& node);

// Vector operations of an activation, for each element.
double activation_ops(int32_t act);

}  // namespace tpu
