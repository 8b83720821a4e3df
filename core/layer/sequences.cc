// ZeroPadding1D, Cropping1D, UpSampling1D, RepeatVector.
#include "tenon/sequences.h"

#include "layer/object/layer_scope.h"

namespace tenon {
namespace {

void expect_sequence(const LayerScope& scope, Tensor x) {
  scope.expect(x.rank() == 3, "input is ", x.type().str(), ", expected rank 3");
}

}  // namespace

Tensor zero_padding1d(Tensor x, const Extent& padding) {
  const LayerScope scope(x, "zero_padding1d", "zero_padding1d");
  expect_sequence(scope, x);
  const Ints p = scope.sizes("padding", padding, 2, 0);
  return pad(x, {0, p[0], 0}, {0, p[1], 0}, {}, 0);
}

Tensor cropping1d(Tensor x, const Extent& cropping) {
  const LayerScope scope(x, "cropping1d", "cropping1d");
  expect_sequence(scope, x);
  const Ints c = scope.sizes("cropping", cropping, 2, 0);
  scope.expect(c[0] < x.dim(1) - c[1], "cropping ", c[0], " and ", c[1], " steps leaves nothing of ", x.type().str());
  return slice(x, {0, c[0], 0}, {x.dim(0), x.dim(1) - c[1], x.dim(2)}, {});
}

Tensor up_sampling1d(Tensor x, int64_t size) {
  const LayerScope scope(x, "up_sampling1d", "up_sampling1d");
  expect_sequence(scope, x);
  const int64_t n = scope.sizes("size", size, 1)[0];
  return reshape(broadcast(x, {x.dim(0), x.dim(1), n, x.dim(2)}, {0, 1, 3}), {x.dim(0), x.dim(1) * n, x.dim(2)});
}

Tensor repeat_vector(Tensor x, int64_t n) {
  const LayerScope scope(x, "repeat_vector", "repeat_vector");
  scope.expect(x.rank() == 2, "input is ", x.type().str(), ", expected rank 2");
  return broadcast(x, {x.dim(0), scope.sizes("n", n, 1)[0], x.dim(1)}, {0, 2});
}

}  // namespace tenon
