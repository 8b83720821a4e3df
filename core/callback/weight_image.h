// Weights as Keras's TensorBoard callback shows them.
#pragma once

#include <optional>

#include "tenon/array.h"

namespace tenon {

// [images, height, width, channels] in shades from 0, the least number, to 1: of a vector one column, of a matrix one image that
// is no higher than wide, of rank 3 an image for each index of the last axis; of rank 4 what is there, where the last axis is of
// 1, 3 or 4. Axes of size 1 do not count. Nothing of what is no image.
std::optional<Array> weight_image(const Array& weight);

}  // namespace tenon
