// From decoded pixels to the floats of a batch: resize, crop, flip and colour in two passes over the crop alone.
#pragma once

#include <cstdint>

#include "tenon/image_options.h"

namespace tenon {

// An image resized to grid_height x grid_width, of which the window at (top, left) is wanted, mirrored left to right or not, and
// upside down or not.
struct ResizeWindow {
  int grid_height = 0, grid_width = 0;
  int top = 0, left = 0;
  int height = 0, width = 0;
  bool flip = false;
  bool flip_rows = false;
  ResizeKind kind = ResizeKind::kLegacy;
};

enum class PixelType : uint8_t { kU8, kU16, kF32 };
constexpr int pixel_bytes(PixelType type) { return type == PixelType::kU8 ? 1 : type == PixelType::kU16 ? 2 : 4; }

// An image of which a part is in memory: rows of `stored` pixels, the first of them at (y, x) of the whole.
struct PixelView {
  const void* data = nullptr;
  int height = 0, width = 0;  // of the whole image
  int y = 0, x = 0;
  int stored = 0;
  int channels = 0;  // 1, 3 or 4
  PixelType type = PixelType::kU8;
};

// The input pixels [begin, end) that outputs first .. first + count - 1 of `grid` read along one axis.
struct AxisRange {
  int begin = 0, end = 0;
};
AxisRange touched(int in, int grid, int first, int count, ResizeKind kind = ResizeKind::kLegacy);

// out: [height, width, channels] = resized * scale + offset. With `means`, also the mean of each channel of `out`.
// REQUIRED: the window lies in the grid, what it touches is in memory. Thread safe; allocates only when a thread meets
// a larger image than before.
void resize_window(const PixelView& image, const ResizeWindow& window, float scale, float offset, float* out,
                   float* means);

// What happens to pixels times `unit` after the resize, as tf.image does it: x += brightness, then
// x = (x - mean of the channel) * contrast + mean, then x * scale + offset. Nothing is clipped.
struct ColourChange {
  float brightness = 0;
  float contrast = 1;
  float scale = 1;
  float offset = 0;
  float unit = 1.0f / 255.0f;
};

// resize_window followed by the change.
void resize_and_colour(const PixelView& image, const ResizeWindow& window, const ColourChange& change, float* out);

}  // namespace tenon
