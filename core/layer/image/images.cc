#include "layer/image/images.h"

#include <algorithm>

#include "op/rules.h"

namespace tenon {

Tensor float_images(const LayerScope& scope, Tensor x) {
  scope.expect(x.rank() == 4 && x.elements() > 0 && x.dtype() != DType::kBool, "input is ", x.type().str(),
               ", expected images of rank 4");
  return is_float(x.dtype()) ? x : cast(x, DType::kF32);
}

Tensor mixed_along(Tensor x, int axis, int64_t to, const std::vector<double>& weights) {
  const int last = x.rank() - 1;
  Ints swap;
  for (int i = 0; i <= last; ++i) swap.push_back(i == axis ? last : i == last ? axis : i);
  const Tensor wide = widened(axis == last ? x : transpose(x, swap));
  const int64_t from = wide.dim(-1);
  Shape shape = wide.shape();
  shape.set(-1, to);
  const Tensor matrix = constant_of(*x.graph(), wide.dtype(), {from, to}, weights);
  DotOptions exact;
  exact.precision = MathPrecision::kHighest;
  const Tensor y = reshape(dot(reshape(wide, {wide.elements() / from, from}), matrix, exact), shape);
  return cast(axis == last ? y : transpose(y, swap), x.dtype());
}

Tensor cut(Tensor x, int64_t top, int64_t left, int64_t height, int64_t width) {
  return slice(x, {0, top, left, 0}, {x.dim(0), top + height, left + width, x.dim(3)}, {});
}

Tensor cut_to_proportions(Tensor x, int64_t height, int64_t width) {
  const int64_t h = x.dim(1), w = x.dim(2);
  const int64_t rows = std::clamp<int64_t>(w * height / width, 1, h);
  const int64_t columns = std::clamp<int64_t>(h * width / height, 1, w);
  return cut(x, (h - rows) / 2, (w - columns) / 2, rows, columns);
}

void expect_image_size(const LayerScope& scope, int64_t height, int64_t width) {
  for (const int64_t size : {height, width})
    scope.expect(size >= 1 && size <= INT32_MAX, "size is ", height, "x", width, ", expected 1 or more");
}

}  // namespace tenon
