// What the decoders of this folder share.
#pragma once

#include <string_view>

#include "data/image/image.h"

namespace tenon {

Result<ImageInfo> read_jpeg_info(std::string_view bytes);
Result<ImageInfo> read_png_info(std::string_view bytes);

Status check_channels(int channels);
// What decoding takes in all: refused above `limit`, else taken from what is left.
Status take_image_room(std::string_view format, int width, int height, int64_t needed, int64_t limit);

// The longest side of an image, libpng's own limit: sizes computed from two sides fit into 64 bits, from one into an int.
constexpr int kMaxImageSide = 1'000'000;

// The window itself, or the whole image when its width is 0; an error when it is not inside.
Result<ImageWindow> resolve_window(const ImageWindow& window, int width, int height);
ImageWindow scale_window(const ImageWindow& window, int scale);

// Makes room for image->bytes() and `scratch` more; never shrinks.
void reserve_pixels(Image* image, size_t scratch);

}  // namespace tenon
