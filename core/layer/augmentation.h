// What random changes of images share.
#pragma once

#include "layer/draws.h"
#include "tenon/augmentation.h"

namespace tenon {

// low <= high, both from `least` to `most`.
void expect_factor(const LayerScope& scope, const char* what, const Factor& factor, double least, double most);
// A number of the factor for each image: f32[B].
Tensor drawn(const LayerScope& scope, Tensor images, const Factor& factor, const char* what);

}  // namespace tenon
