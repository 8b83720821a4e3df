#include "op/rules.h"

namespace tenon {
namespace cast_op {

Tensors gradient_rule(const Gradient& n) {
  if (!is_float(n.in(0).dtype()) || !is_float(n.dtype("to"))) return {Tensor()};
  return {cast(n.g(0), n.in(0).dtype())};
}

}  // namespace cast_op

extern const OpDef kCast;
constexpr OpDef kCast = {"cast", nullptr, cast_op::gradient_rule};

Tensor cast(Tensor x, DType to) { return x.dtype() == to ? x : emit1("cast", {x}, {{"to", to}}); }

}  // namespace tenon
