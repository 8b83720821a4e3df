// Images read through a matrix: rotation, zoom, translation, shear.
#pragma once

#include "tenon/image_options.h"

namespace tenon {

// Pixel (x, y) of the result lies at (a0 x + a1 y + a2, b0 x + b1 y + b2) of the image: a0 a1 a2 b0 b1 b2.
struct Places {
  float numbers[6];
};

// The op affine_image on one image: in and out [height,width,channels]. `value` is what is outside with FillMode::kConstant.
void move_pixels(const float* in, int height, int width, int channels, const Places& places, FillMode fill,
                 ResizeMethod method, float value, float* out);

}  // namespace tenon
