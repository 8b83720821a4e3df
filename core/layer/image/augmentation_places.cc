// RandomRotation, RandomZoom, RandomTranslation, RandomShear: where the result's pixels lie in the image.
#include <numbers>

#include "layer/image/augmentation.h"
#include "layer/image/images.h"

namespace tenon {
namespace {

// Pixel (x, y) of the result lies at (a0 x + a1 y + a2, b0 x + b1 y + b2), each f32[B].
struct Places {
  Tensor a0, a1, a2, b0, b1, b2;
};

template <class Options>
Tensor moved(Tensor images, const Places& p, const Options& o) {
  const int64_t batch = images.dim(0);
  const Tensor zero = full(*images.graph(), DType::kF32, {batch}, 0);
  Tensors columns;
  for (const Tensor& t : {p.a0, p.a1, p.a2, p.b0, p.b1, p.b2, zero, zero}) columns.push_back(reshape(t, {batch, 1}));
  const Tensor theta = cast(concat(columns, 1), images.dtype());
  const auto read = [&](Tensor x) { return affine_image(x, theta, x.dim(1), x.dim(2), o.interpolation, o.fill_mode); };
  // What is outside is 0 to the op.
  const bool shifts = o.fill_mode == FillMode::kConstant && o.fill_value != 0;
  return shifts ? read(images - o.fill_value) + o.fill_value : read(images);
}

double middle(int64_t size) { return static_cast<double>(size - 1) / 2; }

}  // namespace

Tensor random_rotation(Tensor x, const RandomRotationOptions& o) {
  const LayerScope scope(x, "random_rotation", o.name);
  expect_factor(scope, "factor", o.factor, -1, 1);
  scope.expect_number("fill_value", o.fill_value);
  const Tensor images = float_images(scope, x);
  if (mode_of(x) != Mode::kTrain) return images;
  const Tensor angle = drawn(scope, images, o.factor, "angle") * (2 * std::numbers::pi);
  const Tensor c = cos(angle), s = sin(angle);
  const double cx = middle(images.dim(2)), cy = middle(images.dim(1));
  return moved(images, {c, -s, cx - c * cx + s * cy, s, c, cy - s * cx - c * cy}, o);
}

Tensor random_zoom(Tensor x, const RandomZoomOptions& o) {
  const LayerScope scope(x, "random_zoom", o.name);
  expect_factor(scope, "height_factor", o.height_factor, -1, 1);
  if (o.width_factor) expect_factor(scope, "width_factor", *o.width_factor, -1, 1);
  scope.expect_number("fill_value", o.fill_value);
  const Tensor images = float_images(scope, x);
  if (mode_of(x) != Mode::kTrain) return images;
  const Tensor h = drawn(scope, images, o.height_factor, "height") + 1;
  const Tensor w = o.width_factor ? drawn(scope, images, *o.width_factor, "width") + 1 : h;
  const Tensor zero = full_like(h, 0);
  return moved(images, {w, zero, (1 - w) * middle(images.dim(2)), zero, h, (1 - h) * middle(images.dim(1))}, o);
}

Tensor random_translation(Tensor x, const RandomTranslationOptions& o) {
  const LayerScope scope(x, "random_translation", o.name);
  expect_factor(scope, "height_factor", o.height_factor, -1, 1);
  expect_factor(scope, "width_factor", o.width_factor, -1, 1);
  scope.expect_number("fill_value", o.fill_value);
  const Tensor images = float_images(scope, x);
  if (mode_of(x) != Mode::kTrain) return images;
  const Tensor down = drawn(scope, images, o.height_factor, "height") * static_cast<double>(images.dim(1));
  const Tensor right = drawn(scope, images, o.width_factor, "width") * static_cast<double>(images.dim(2));
  const Tensor zero = full_like(down, 0), one = full_like(down, 1);
  return moved(images, {one, zero, -right, zero, one, -down}, o);
}

Tensor random_shear(Tensor x, const RandomShearOptions& o) {
  const LayerScope scope(x, "random_shear", o.name);
  expect_factor(scope, "x_factor", o.x_factor, -1, 1);
  expect_factor(scope, "y_factor", o.y_factor, -1, 1);
  scope.expect_number("fill_value", o.fill_value);
  const Tensor images = float_images(scope, x);
  if (mode_of(x) != Mode::kTrain) return images;
  const Tensor sign = either_sign(scope, images);
  const Tensor u = drawn(scope, images, o.x_factor, "x") * sign, v = drawn(scope, images, o.y_factor, "y") * sign;
  const Tensor zero = full_like(u, 0), one = full_like(u, 1);
  return moved(images, {one, u, zero, v, one, zero}, o);
}

}  // namespace tenon
