// Add, Subtract, Multiply, Average, Maximum, Minimum.
#include "layer/object/layer_scope.h"
#include "layer/object/masks.h"

namespace tenon {
namespace {

using Merge = Tensor (*)(Tensor a, Tensor b);

Tensor folded(const char* layer, const Tensors& xs, Merge two) {
  if (xs.empty()) fail(layer, ": has no inputs");
  const LayerScope scope(xs[0], layer, layer);
  Tensor out = xs[0];
  for (size_t i = 1; i < xs.size(); ++i) {
    scope.expect(static_cast<bool>(xs[i]), "input ", i, " was never set");
    out = two(out, xs[i]);
  }
  if (xs.size() > 1) set_mask(out, merged_mask(xs));
  return out;
}

// Repeats both operands to one shape, which strict ops take.
template <Tensor (*op)(Tensor, Tensor)>
Tensor broadcasting(Tensor a, Tensor b) {
  const Shape shape = broadcast_shapes(a.shape(), b.shape());
  return op(broadcast_to(a, shape), broadcast_to(b, shape));
}

}  // namespace

Tensor add(const Tensors& xs) { return folded("add", xs, operator+); }
Tensor multiply(const Tensors& xs) { return folded("multiply", xs, operator*); }
Tensor maximum(const Tensors& xs) { return folded("maximum", xs, broadcasting<maximum>); }
Tensor minimum(const Tensors& xs) { return folded("minimum", xs, broadcasting<minimum>); }

Tensor subtract(const Tensors& xs) {
  if (xs.size() != 2) fail("subtract: has ", xs.size(), " inputs, expected 2");
  return folded("subtract", xs, operator-);
}

Tensor average(const Tensors& xs) {
  const Tensor sum = folded("average", xs, operator+);
  return with_mask_of(sum, sum / static_cast<double>(xs.size()));
}

}  // namespace tenon
