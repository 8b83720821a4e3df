// Dot.
#include "tenon/batch_dot.h"

#include "layer/object/layer_scope.h"

namespace tenon {
namespace {

// An axis of x that is not the batch.
int64_t summed_axis(const LayerScope& scope, Tensor x, int64_t axis) {
  const int64_t from_front = axis < 0 ? axis + x.rank() : axis;
  scope.expect(from_front >= 1 && from_front < x.rank(), "axis ", axis, " of ", x.type().str(), ", expected 1 to ",
               x.rank() - 1, ", or one from the end");
  return from_front;
}

// x / max(norm, 1e-7).
Tensor of_unit_norm(Tensor x, int64_t axis) {
  const Tensor squares = reduce_sum(square(x), {axis}, true);
  return x / sqrt(maximum(squares, scalar_like(squares, 1e-14)));
}

// x[B,..] as [B, rest, axis], and the rest's sizes.
struct Split {
  Tensor rows;
  std::vector<int64_t> rest;
};
Split split_at(Tensor x, int64_t axis) {
  Split s;
  Ints perm{0};
  for (int64_t i = 1; i < x.rank(); ++i)
    if (i != axis) perm.push_back(i), s.rest.push_back(x.dim(static_cast<int>(i)));
  perm.push_back(axis);
  const int64_t n = x.dim(static_cast<int>(axis));
  s.rows = reshape(transpose(x, perm), {x.dim(0), x.elements() / x.dim(0) / n, n});
  return s;
}

}  // namespace

Tensor batch_dot(const Tensors& xs, const BatchDotOptions& o) {
  if (xs.size() != 2) fail("dot: has ", xs.size(), " inputs, expected 2");
  const LayerScope scope(xs[0], "dot", o.name);
  for (const Tensor& x : xs) {
    scope.expect(static_cast<bool>(x), "an input was never set");
    scope.expect_float(x, 2);
  }
  Tensor a = xs[0], b = xs[1];
  scope.expect(o.axes.size() == 1 || o.axes.size() == 2, "axes has ", o.axes.size(), " numbers, expected 1 or 2");
  const int64_t i = summed_axis(scope, a, o.axes.front()), j = summed_axis(scope, b, o.axes.back());
  scope.expect(a.dim(0) == b.dim(0) && a.dim(static_cast<int>(i)) == b.dim(static_cast<int>(j)), "inputs are ",
               a.type().str(), " and ", b.type().str(), ", expected the same batch, and axis ", i, " as long as axis ",
               j);
  if (o.normalize) a = of_unit_norm(a, i), b = of_unit_norm(b, j);
  const Split left = split_at(a, i), right = split_at(b, j);
  std::vector<int64_t> dims{a.dim(0)};
  dims.insert(dims.end(), left.rest.begin(), left.rest.end());
  dims.insert(dims.end(), right.rest.begin(), right.rest.end());
  if (dims.size() == 1) dims.push_back(1);
  return reshape(dot(left.rows, right.rows, {.tb = true}), Shape(dims));
}

}  // namespace tenon
