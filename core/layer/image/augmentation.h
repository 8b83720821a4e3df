// What random changes of images share.
#pragma once

#include "layer/image/draws.h"
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
// A number of each image [B], in the images' dtype, for all of its elements.
Tensor for_each_pixel(Tensor each, Tensor images);

// A rectangle in each image, which has these shares of its height and width, f32[B], at any place with equal chance.
struct Rectangle {
  Tensor rows, columns;  // what lies in it: bool[B,H], bool[B,W]
  // Whether a pixel is in it, for each element of the images.
  Tensor mask(Tensor images) const;
};
Rectangle rectangle(const LayerScope& scope, Tensor images, Tensor height, Tensor width);

}  // namespace tenon
