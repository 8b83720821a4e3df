#include "data/image/image.h"

#include "base/room.h"
#include "base/text.h"
#include "data/image/image_internal.h"

namespace tenon {
namespace {

std::string printable(std::string_view head) {
  std::string text;
  for (const char c : head.substr(0, 8)) {
    const unsigned byte = static_cast<uint8_t>(c);
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text.empty() ? "nothing" : text;
}

Status no_image(std::string_view bytes) {
  return invalid("image: expected JPEG or PNG, found bytes ", printable(bytes));
}

int ceil_div(int a, int b) { return a / b + (a % b != 0); }

}  // namespace

ImageFormat image_format(std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff")) return ImageFormat::kJpeg;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return ImageFormat::kPng;
  return ImageFormat::kUnknown;
}

std::string_view image_format_name(ImageFormat format) {
  switch (format) {
    case ImageFormat::kJpeg:
      return "JPEG";
    case ImageFormat::kPng:
      return "PNG";
    case ImageFormat::kUnknown:
      return "unknown";
  }
  return "unknown";
}

Result<ImageInfo> read_image_info(std::string_view bytes) {
  switch (image_format(bytes)) {
    case ImageFormat::kJpeg:
      return read_jpeg_info(bytes);
    case ImageFormat::kPng:
      return read_png_info(bytes);
    case ImageFormat::kUnknown:
      return no_image(bytes);
  }
  return no_image(bytes);
}

Status decode_image(std::string_view bytes, const DecodeOptions& options, Image* image) {
  switch (image_format(bytes)) {
    case ImageFormat::kJpeg:
      return decode_jpeg(bytes, options, image);
    case ImageFormat::kPng:
      return decode_png(bytes, options, image);
    case ImageFormat::kUnknown:
      return no_image(bytes);
  }
  return no_image(bytes);
}

Status check_channels(int channels) {
  if (channels == 1 || channels == 3) return {};
  return invalid("image: expected 1 or 3 channels, found ", channels);
}

Status take_image_room(std::string_view format, int width, int height, int64_t needed, int64_t limit) {
  if (needed <= limit && static_cast<uint64_t>(needed) < kRoomGranule) return {};
  if (needed <= limit)
    return take_room(static_cast<uint64_t>(needed), cat("a ", format, " image of ", width, "x", height));
  return invalid(format, ": an image of ", width, "x", height, " needs ", needed, " bytes, expected at most ", limit);
}

Result<ImageWindow> resolve_window(const ImageWindow& window, int width, int height) {
  if (window.width == 0) return ImageWindow{0, 0, width, height};
  const bool inside = window.x >= 0 && window.y >= 0 && window.width > 0 && window.height > 0 &&
                      window.width <= width && window.height <= height && window.x <= width - window.width &&
                      window.y <= height - window.height;
  if (inside) return window;
  return invalid("image: expected a window inside ", width, "x", height, ", found ", window.width, "x", window.height,
                 " at ", window.x, ",", window.y);
}

ImageWindow scale_window(const ImageWindow& window, int scale) {
  const int x = window.x / scale, y = window.y / scale;
  return {x, y, ceil_div(window.x + window.width, scale) - x, ceil_div(window.y + window.height, scale) - y};
}

void Image::free_large() {
  if (!room_to_keep(pixels.size())) std::vector<uint8_t>().swap(pixels);
}

void reserve_pixels(Image* image, size_t scratch) {
  if (image->pixels.size() < image->bytes() + scratch) image->pixels.resize(image->bytes() + scratch);
}

}  // namespace tenon
