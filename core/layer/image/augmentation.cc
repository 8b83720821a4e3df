// RandomFlip, RandomContrast, RandomBrightness, RandomCrop.
#include "tenon/augmentation.h"

#include "layer/image/random_change.h"
#include "tenon/preprocessing.h"

namespace tenon {
namespace {

Tensor flipped(const LayerScope& scope, Tensor x, int64_t axis, const char* what) {
  const Tensor draw = uniform(scope, x, {x.dim(0)}, what);
  const Tensor flips = compare(draw, scalar_like(draw, 0.5), CompareKind::kLt);
  return select(broadcast(flips, x.shape(), {0}), reverse(x, {axis}), x);
}

}  // namespace

void expect_factor(const LayerScope& scope, const char* what, const Factor& f, double least, double most) {
  scope.expect(least <= f.low && f.low <= f.high && f.high <= most, what, " is ", f.low, " to ", f.high,
               ", expected two numbers from ", least, " to ", most);
}

Tensor drawn(const LayerScope& scope, Tensor images, const Factor& f, const char* what) {
  return uniform(scope, images, {images.dim(0)}, what) * (f.high - f.low) + f.low;
}

Factor from_zero(const Factor& f) { return f.low == -f.high ? Factor(0, f.high) : f; }

Tensor either_sign(const LayerScope& scope, Tensor images) {
  const Tensor draw = uniform(scope, images, {images.dim(0)}, "sign");
  return select(compare(draw, scalar_like(draw, 0.5), CompareKind::kLt), full_like(draw, -1), full_like(draw, 1));
}

void expect_values(const LayerScope& scope, const ValueRange& r) {
  scope.expect_number("the low end of value_range", r.low);
  scope.expect_number("the high end of value_range", r.high, r.low);
}

Tensor happens(const LayerScope& scope, Tensor images, const Factor& probability) {
  const Tensor draw = uniform(scope, images, {images.dim(0)}, "whether");
  const Tensor is = compare(draw, drawn(scope, images, probability, "probability"), CompareKind::kLt);
  return broadcast(is, images.shape(), {0});
}

Tensor for_each_pixel(Tensor each, Tensor images) { return broadcast(cast(each, images.dtype()), images.shape(), {0}); }

Tensor random_flip(Tensor x, const RandomFlipOptions& o) {
  const LayerScope scope(x, "random_flip", o.name);
  scope.expect_value_of("mode", o.mode, FlipMode::kHorizontalAndVertical);
  Tensor images = float_images(scope, x);
  if (mode_of(x) != Mode::kTrain) return images;
  if (o.mode != FlipMode::kVertical) images = flipped(scope, images, 2, "horizontal");
  if (o.mode != FlipMode::kHorizontal) images = flipped(scope, images, 1, "vertical");
  return images;
}

Tensor random_contrast(Tensor x, const RandomContrastOptions& o) {
  const LayerScope scope(x, "random_contrast", o.name);
  scope.expect(o.factor.high >= 0, "factor is ", o.factor.high, ", expected 0 to 1");
  const Factor apart(o.factor.low < 0 ? o.factor.low : -o.factor.low, o.factor.high);
  expect_factor(scope, "factor", apart, -1, 1);
  expect_values(scope, o.value_range);
  const Tensor images = float_images(scope, x);
  if (mode_of(x) != Mode::kTrain) return images;
  const Tensor mean = reduce_mean(images, {1, 2}, true);
  const Tensor changed = (images - mean) * for_each_pixel(drawn(scope, images, apart, "contrast") + 1, images) + mean;
  return clamp(changed, o.value_range.low, o.value_range.high);
}

Tensor random_brightness(Tensor x, const RandomBrightnessOptions& o) {
  const LayerScope scope(x, "random_brightness", o.name);
  expect_factor(scope, "factor", o.factor, -1, 1);
  expect_values(scope, o.value_range);
  const Tensor images = float_images(scope, x);
  if (mode_of(x) != Mode::kTrain) return images;
  const Tensor by = drawn(scope, images, o.factor, "brightness") * (o.value_range.high - o.value_range.low);
  return clamp(images + for_each_pixel(by, images), o.value_range.low, o.value_range.high);
}

Tensor random_crop(Tensor x, const RandomCropOptions& o) {
  const LayerScope scope(x, "random_crop", o.name);
  expect_image_size(scope, o.height, o.width);
  const Tensor images = float_images(scope, x);
  const int64_t rows = images.dim(1) - o.height, columns = images.dim(2) - o.width;
  if (mode_of(x) != Mode::kTrain || rows < 0 || columns < 0) return centered(scope, images, o.height, o.width);
  const Shape each{images.dim(0)};
  const auto offset = [&](int64_t room, const char* what) {
    const Tensor u = uniform(scope, images, {}, what, true);
    return broadcast(cast(floor(u * static_cast<double>(room + 1)), DType::kI32), each, {});
  };
  const Tensor none = full(*x.graph(), DType::kBool, each, 0);
  return crop_flip(images, offset(rows, "top"), offset(columns, "left"), none, o.height, o.width);
}

}  // namespace tenon
