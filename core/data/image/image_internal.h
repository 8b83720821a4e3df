// What the decoders of this folder share.
#pragma once

#include <string_view>

#include "data/image/image.h"

namespace tenon {

Result<ImageInfo> read_jpeg_info(std::string_view bytes);
Result<ImageInfo> read_png_info(std::string_view bytes);
Result<ImageInfo> read_webp_info(std::string_view bytes);

Status check_channels(const DecodeOptions& options);
// What decoding takes in all: refused above `limit`, else taken from what is left.
Status take_image_room(std::string_view format, int width, int height, int64_t needed, int64_t limit);

// The longest side of an image, libpng's own limit: sizes computed from two sides fit into 64 bits, from one into an int.
constexpr int kMaxImageSide = 1'000'000;

// The window itself, or the whole image when its width is 0; an error when it is not inside.
Result<ImageWindow> resolve_window(const ImageWindow& window, int width, int height);
ImageWindow scale_window(const ImageWindow& window, int scale);

// Makes room for image->bytes() and `scratch` more; never shrinks.
void reserve_pixels(Image* image, size_t scratch);

// An image that was decoded with one channel more than is wanted, its transparency, on the background. In place.
void blend_alpha(Image* image, const Colour& background);
// Three channels become luma, in place.
void to_gray(Image* image);
// RGB becomes RGBA, opaque, in place. REQUIRED: room for it.
void add_alpha(Image* image);
// Moves the window's rows to the front of the whole image.
void crop_pixels(Image* image, const ImageWindow& window);

}  // namespace tenon
