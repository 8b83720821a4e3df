#include "op/rules.h"

namespace tenon {
namespace {

Tensors cast_gradient(const Gradient& n) {
  if (!is_float(n.in(0).dtype()) || !is_float(n.dtype("to"))) return {Tensor()};
  return {cast(n.g(0), n.in(0).dtype())};
}

}  // namespace

extern const OpDef kCast;
constexpr OpDef kCast = {"cast", nullptr, cast_gradient};

Tensor cast(Tensor x, DType to) {
  if (x.dtype() == to) return x;
  return emit1("cast", {x}, {{"to", to}});
}

}  // namespace tenon
