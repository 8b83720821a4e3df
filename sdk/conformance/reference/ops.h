// The primitives, a family a file, each with its table. Private to this folder.
#pragma once

#include <string_view>

#include "conformance/reference/loops.h"

namespace tenon::reference {

// What has a bound of its own (error_bound.cc), or moves elements and keeps their bits.
constexpr double kNoUlps = -1;

struct Primitive {
  std::string_view op;
  void (*evaluate)(const NodeView& node, const Operands& in, Results& out);
  // The error, in units of the arithmetic's dtype, within which a result of the exact operands lies. 0: exact, but for the flushing of
  // subnormals.
  double ulps = kNoUlps;
};
// nullptr: there is none.
const Primitive* find(std::string_view op);

using plugin::Span;

Span<Primitive> elementwise_primitives();
Span<Primitive> movement_primitives();
Span<Primitive> reduction_primitives();
Span<Primitive> contraction_primitives();
Span<Primitive> random_primitives();
Span<Primitive> collective_primitives();

}  // namespace tenon::reference
