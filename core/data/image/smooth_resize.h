// The part of resize_window that takes all pixels into account where an image gets smaller (ResizeKind::kAntialias).
#pragma once

#include "data/image/augment.h"

namespace tenon {

AxisRange touched_smoothly(int in, int grid, int first, int count);
void resize_smoothly(const PixelView& image, const ResizeWindow& window, float scale, float offset, float* out, float* means);

}  // namespace tenon
