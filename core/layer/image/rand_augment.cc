// RandAugment.
#include <algorithm>
#include <cmath>

#include "layer/image/random_change.h"

namespace tenon {
namespace {

// x changed in each of the ways, in Keras's order.
Tensors all_changes(Tensor x, const RandAugmentOptions& o, const Factor& f) {
  const auto pixels = [&](auto options) {
    options.factor = f;
    options.value_range = o.value_range;
    return options;
  };
  const double bits = std::max(1.0, std::floor(8 * f.high));
  return {random_shear(x, {.x_factor = f, .y_factor = f, .interpolation = o.interpolation}),
          random_translation(x, {.height_factor = f, .width_factor = f, .interpolation = o.interpolation}),
          random_rotation(x, {.factor = f, .interpolation = o.interpolation}),
          random_brightness(x, pixels(RandomBrightnessOptions())),
          random_color_degeneration(x, pixels(RandomColorDegenerationOptions())),
          random_contrast(x, pixels(RandomContrastOptions())),
          random_sharpness(x, pixels(RandomSharpnessOptions())),
          random_posterization(x, {.factor = {1, bits}, .value_range = o.value_range}),
          solarization(x, {.addition_factor = f, .threshold_factor = f, .value_range = o.value_range}),
          auto_contrast(x, {.value_range = o.value_range}),
          equalization(x, {.value_range = o.value_range})};
}

}  // namespace

Tensor rand_augment(Tensor x, const RandAugmentOptions& o) {
  const LayerScope scope(x, "rand_augment", o.name);
  const Factor factor = from_zero(o.factor);
  expect_factor(scope, "factor", factor, 0, 1);
  scope.expect(1 <= o.num_ops && o.num_ops <= 100, "num_ops is ", o.num_ops, ", expected 1 to 100");
  expect_values(scope, o.value_range);
  Tensor images = float_images(scope, x);
  expect_colours(scope, images);
  if (mode_of(x) != Mode::kTrain) return images;
  for (int64_t n = 0; n < o.num_ops; ++n) {
    const Tensors changes = all_changes(images, o, factor);
    const Tensor draw =
        uniform(scope, images, {images.dim(0)}, cat("change ", n)) * static_cast<double>(changes.size());
    Tensor next = changes.back();
    for (size_t i = changes.size() - 1; i-- > 0;) {
      const Tensor before = compare(draw, scalar_like(draw, static_cast<double>(i + 1)), CompareKind::kLt);
      next = select(broadcast(before, images.shape(), {0}), changes[i], next);
    }
    images = next;
  }
  return images;
}

}  // namespace tenon
