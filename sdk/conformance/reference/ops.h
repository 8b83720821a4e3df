// The primitives, a family a file, each with its table. Private to this folder.
#pragma once

#include <string_view>

#include "conformance/reference/loops.h"

namespace tenon::reference {

struct Primitive {
  std::string_view name;
  void (*evaluate)(const NodeView& node, const Operands& in, Results& out);
};

using plugin::Span;

Span<Primitive> elementwise_primitives();
Span<Primitive> movement_primitives();
Span<Primitive> reduction_primitives();
Span<Primitive> contraction_primitives();
Span<Primitive> random_primitives();
Span<Primitive> collective_primitives();

}  // namespace tenon::reference
