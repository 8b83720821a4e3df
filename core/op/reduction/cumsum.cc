#include "op/rules.h"

namespace tenon {
namespace {

// x moved by `by` along the axis towards its end (its start when `back`), zeros moving in.
Tensor shifted(Tensor x, int axis, int64_t by, bool back) {
  Ints low(x.rank(), 0), high(x.rank(), 0), start(x.rank(), 0), limit = x.shape().vec();
  if (back)
    start[axis] = by;
  else
    limit[axis] -= by;
  (back ? high : low)[axis] = by;
  return pad(slice(x, start, limit, {}), low, high, {}, 0);
}

Tensors cumsum_decomposition(const Decompose& n) {
  const int axis = static_cast<int>(n.i64("axis"));
  const bool back = n.flag("reverse");
  Tensor y = is_float(n.in(0).dtype()) ? widened(n.in(0)) : n.in(0);
  const int64_t size = y.dim(axis);
  if (n.flag("exclusive")) y = size > 1 ? shifted(y, axis, 1, back) : full_like(y, 0);
  for (int64_t by = 1; by < size; by *= 2) y = add(y, shifted(y, axis, by, back));
  return {cast(y, n.in(0).dtype())};
}

Tensors cumsum_gradient(const Gradient& n) {
  return {cumsum(n.g(0), n.i64("axis"), n.flag("exclusive"), !n.flag("reverse"))};
}

}  // namespace

extern const OpDef kCumsum;
constexpr OpDef kCumsum = {"cumsum", cumsum_decomposition, cumsum_gradient};

Tensor cumsum(Tensor x, int64_t axis, bool exclusive, bool reverse) {
  const int64_t which = axis_of("cumsum", x, axis);
  return emit1("cumsum", {x}, {{"axis", which}, {"exclusive", exclusive}, {"reverse", reverse}});
}

}  // namespace tenon
