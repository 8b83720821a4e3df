// What layers of images share.
#pragma once

#include <vector>

#include "layer/object/layer_scope.h"

namespace tenon {

// Images [B,H,W,C], integers as f32. Throws unless they are of rank 4 and have pixels.
Tensor float_images(const LayerScope& scope, Tensor x);
// x with the axis of size `from` made `to`: result j is the sum of x_i weights[i to + j].
Tensor mixed_along(Tensor x, int axis, int64_t to, const std::vector<double>& weights);
// Rows [top, top + height) and columns [left, left + width) of images.
Tensor cut(Tensor x, int64_t top, int64_t left, int64_t height, int64_t width);
// The middle of images with the proportions of height to width.
Tensor cut_to_proportions(Tensor x, int64_t height, int64_t width);
// The middle of images, or where they are smaller that with the result's proportions, resized.
Tensor centered(const LayerScope& scope, Tensor images, int64_t height, int64_t width);
void expect_image_size(const LayerScope& scope, int64_t height, int64_t width);

}  // namespace tenon
