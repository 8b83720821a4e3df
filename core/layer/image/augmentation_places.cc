// RandomRotation, RandomZoom, RandomTranslation, RandomShear: where the result's pixels lie in the image.
#include <numbers>

#include "layer/image/random_change.h"

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

struct NamedFactor {
  const char* name;
  Factor factor;  // within [-1, 1]
};

// Images moved to places(scope, images), while training.
template <class Options, class Find>
Tensor moved_at_random(Tensor x, const char* layer, const Options& o, const std::vector<NamedFactor>& factors,
                       Find places) {
  const LayerScope scope(x, layer, o.name);
  for (const NamedFactor& f : factors) expect_factor(scope, f.name, f.factor, -1, 1);
  scope.expect_number("fill_value", o.fill_value);
  const Tensor images = float_images(scope, x);
  return mode_of(x) == Mode::kTrain ? moved(images, places(scope, images), o) : images;
}

}  // namespace

Tensor random_rotation(Tensor x, const RandomRotationOptions& o) {
  const auto places = [&](const LayerScope& scope, Tensor images) -> Places {
    const Tensor angle = drawn(scope, images, o.factor, "angle") * (2 * std::numbers::pi);
    const Tensor c = cos(angle), s = sin(angle);
    const double cx = middle(images.dim(2)), cy = middle(images.dim(1));
    return {c, -s, cx - c * cx + s * cy, s, c, cy - s * cx - c * cy};
  };
  return moved_at_random(x, "random_rotation", o, {{"factor", o.factor}}, places);
}

Tensor random_zoom(Tensor x, const RandomZoomOptions& o) {
  const auto places = [&](const LayerScope& scope, Tensor images) -> Places {
    const Tensor h = drawn(scope, images, o.height_factor, "height") + 1;
    const Tensor w = o.width_factor ? drawn(scope, images, *o.width_factor, "width") + 1 : h;
    const Tensor zero = full_like(h, 0);
    return {w, zero, (1 - w) * middle(images.dim(2)), zero, h, (1 - h) * middle(images.dim(1))};
  };
  std::vector<NamedFactor> factors{{"height_factor", o.height_factor}};
  if (o.width_factor) factors.push_back({"width_factor", *o.width_factor});
  return moved_at_random(x, "random_zoom", o, factors, places);
}

Tensor random_translation(Tensor x, const RandomTranslationOptions& o) {
  const auto places = [&](const LayerScope& scope, Tensor images) -> Places {
    const Tensor down = drawn(scope, images, o.height_factor, "height") * static_cast<double>(images.dim(1));
    const Tensor right = drawn(scope, images, o.width_factor, "width") * static_cast<double>(images.dim(2));
    const Tensor zero = full_like(down, 0), one = full_like(down, 1);
    return {one, zero, -right, zero, one, -down};
  };
  return moved_at_random(x, "random_translation", o,
                         {{"height_factor", o.height_factor}, {"width_factor", o.width_factor}}, places);
}

Tensor random_shear(Tensor x, const RandomShearOptions& o) {
  const auto places = [&](const LayerScope& scope, Tensor images) -> Places {
    const Tensor sign = either_sign(scope, images);
    const Tensor u = drawn(scope, images, o.x_factor, "x") * sign, v = drawn(scope, images, o.y_factor, "y") * sign;
    const Tensor zero = full_like(u, 0), one = full_like(u, 1);
    return {one, u, zero, v, one, zero};
  };
  return moved_at_random(x, "random_shear", o, {{"x_factor", o.x_factor}, {"y_factor", o.y_factor}}, places);
}

}  // namespace tenon
