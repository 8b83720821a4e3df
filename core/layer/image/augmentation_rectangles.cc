// RandomErasing: what a rectangle of an image is replaced by.
#include <algorithm>

#include "layer/image/random_change.h"

namespace tenon {
namespace {

Tensor both(Tensor a, Tensor b) { return minimum(a, b); }

// Which of the axis's positions lie in a part of it that has this share: bool[B,size].
Tensor positions(const LayerScope& scope, Tensor images, int axis, Tensor share, const char* what) {
  const Shape shape{images.dim(0), images.dim(axis)};
  const Tensor length = share * static_cast<double>(shape[1]);
  const Tensor start = uniform(scope, images, {shape[0]}, what) * (static_cast<double>(shape[1]) - length);
  const auto each = [&](Tensor x) { return broadcast(x, shape, {0}); };
  const Tensor at = iota(*images.graph(), DType::kF32, shape, 1) + 0.5;
  return both(compare(at, each(start), CompareKind::kGe), compare(at, each(start + length), CompareKind::kLt));
}

Tensor filling(const LayerScope& scope, Tensor images, const RandomErasingOptions& o) {
  const ValueRange& r = o.value_range;
  if (o.fill_value.empty())
    return cast(clamp(normal(scope, images, images.shape()) * r.high, r.low, r.high), images.dtype());
  std::vector<double> values(static_cast<size_t>(images.dim(3)), o.fill_value[0]);
  if (o.fill_value.size() > 1) values = o.fill_value;
  for (double& v : values) v = std::clamp(v, r.low, r.high);
  return broadcast(constant_of(*images.graph(), images.dtype(), {images.dim(3)}, values), images.shape(), {3});
}

}  // namespace

Tensor Rectangle::mask(Tensor images) const {
  const Shape& shape = images.shape();
  return both(broadcast(rows, shape, {0, 1}), broadcast(columns, shape, {0, 2}));
}

Rectangle rectangle(const LayerScope& scope, Tensor images, Tensor height, Tensor width) {
  return {positions(scope, images, 1, height, "top"), positions(scope, images, 2, width, "left")};
}

Tensor random_erasing(Tensor x, const RandomErasingOptions& o) {
  const LayerScope scope(x, "random_erasing", o.name);
  const Factor factor = from_zero(o.factor), scale = from_zero(o.scale);
  expect_factor(scope, "factor", factor, 0, 1);
  expect_factor(scope, "scale", scale, 0, 1);
  expect_values(scope, o.value_range);
  const Tensor images = float_images(scope, x);
  const auto fills = static_cast<int64_t>(o.fill_value.size());
  scope.expect(fills <= 1 || fills == images.dim(3), "fill_value has ", fills,
               " numbers, expected one, or one for each of ", images.dim(3), " channels");
  for (const double v : o.fill_value) scope.expect_number("fill_value", v);
  if (mode_of(x) != Mode::kTrain) return images;
  const auto share = [&](const char* what) { return sqrt(drawn(scope, images, scale, what)); };
  const Tensor inside = rectangle(scope, images, share("height"), share("width")).mask(images);
  return select(both(inside, happens(scope, images, factor)), filling(scope, images, o), images);
}

}  // namespace tenon
