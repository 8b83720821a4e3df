// What random changes of images share.
#pragma once

#include "layer/image/draws.h"
#include "layer/image/images.h"
#include "op/rules.h"
#include "tenon/augmentation.h"

namespace tenon {

// low <= high, both from `least` to `most`.
void expect_factor(const LayerScope& scope, const char* what, const Factor& factor, double least, double most);
// A number of the factor for each image: f32[B].
Tensor drawn(const LayerScope& scope, Tensor images, const Factor& factor, const char* what);
// The factor where f means [0, f].
Factor from_zero(const Factor& factor);
// 1 or -1 for each image: f32[B].
Tensor either_sign(const LayerScope& scope, Tensor images);
void expect_values(const LayerScope& scope, const ValueRange& range);
// red, green, blue.
void expect_colours(const LayerScope& scope, Tensor images);
// Whether it happens to an image, with a probability of the factor, for each element: bool like the images.
Tensor happens(const LayerScope& scope, Tensor images, const Factor& probability);
// A number of each image [B], in the images' dtype, for all of its elements.
Tensor for_each_pixel(Tensor each, Tensor images);

// Images that are changed while training alone: change(scope, images in f32), within value_range. `expect` holds the options
// to what they may be, change or none.
template <class Options, class Expect, class Change>
Tensor changed_pixels(Tensor x, std::string_view layer, const Options& o, Expect expect, Change change) {
  const LayerScope scope(x, layer, o.name);
  expect_values(scope, o.value_range);
  const Tensor images = float_images(scope, x);
  expect(scope, images);
  if (mode_of(x) != Mode::kTrain) return images;
  return cast(clamp(change(scope, widened(images)), o.value_range.low, o.value_range.high), images.dtype());
}

// A rectangle in each image, which has these shares of its height and width, f32[B], at any place with equal chance.
struct Rectangle {
  Tensor rows, columns;  // what lies in it: bool[B,H], bool[B,W]
  // Whether a pixel is in it, for each element of the images.
  Tensor mask(Tensor images) const;
};
Rectangle rectangle(const LayerScope& scope, Tensor images, Tensor height, Tensor width);

}  // namespace tenon
