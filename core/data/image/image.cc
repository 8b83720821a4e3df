#include "data/image/image.h"

#include <cstring>

#include "base/room.h"
#include "base/strings.h"
#include "data/image/image_internal.h"
#include "data/work_span.h"

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
  return invalid("image: expected JPEG, PNG or WebP, found bytes ", printable(bytes));
}

int ceil_div(int a, int b) { return a / b + (a % b != 0); }

// [count, channels + 1] -> [count, channels], the last one how much of it is seen.
template <class T>
void blend_values(T* pixels, size_t count, int channels, const Colour& background) {
  constexpr uint32_t kMost = static_cast<T>(~T{0});
  uint32_t below[3];
  for (size_t c = 0; c < 3; ++c) below[c] = background[c] * (kMost / 255);
  if (channels == 1) below[0] = (299 * below[0] + 587 * below[1] + 114 * below[2] + 500) / 1000;
  const T* from = pixels;
  for (size_t i = 0; i < count; ++i, from += channels + 1, pixels += channels) {
    const uint64_t seen = from[channels];
    for (int c = 0; c < channels; ++c)
      pixels[c] = static_cast<T>((from[c] * seen + below[c] * (kMost - seen) + kMost / 2) / kMost);
  }
}

}  // namespace

ImageFormat image_format(std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff")) return ImageFormat::kJpeg;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return ImageFormat::kPng;
  if (bytes.size() >= 12 && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WEBP") return ImageFormat::kWebp;
  return ImageFormat::kUnknown;
}

std::string_view image_format_name(ImageFormat format) {
  switch (format) {
    case ImageFormat::kJpeg:
      return "JPEG";
    case ImageFormat::kPng:
      return "PNG";
    case ImageFormat::kWebp:
      return "WebP";
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
    case ImageFormat::kWebp:
      return read_webp_info(bytes);
    case ImageFormat::kUnknown:
      return no_image(bytes);
  }
  return no_image(bytes);
}

Status decode_image(std::string_view bytes, const DecodeOptions& options, Image* image) {
  const WorkSpan span(WorkPart::kDecode);
  switch (image_format(bytes)) {
    case ImageFormat::kJpeg:
      return decode_jpeg(bytes, options, image);
    case ImageFormat::kPng:
      return decode_png(bytes, options, image);
    case ImageFormat::kWebp:
      return decode_webp(bytes, options, image);
    case ImageFormat::kUnknown:
      return no_image(bytes);
  }
  return no_image(bytes);
}

Status check_channels(const DecodeOptions& options) {
  if (options.alpha == Alpha::kKeep)
    return options.channels == 4 ? Status()
                                 : invalid("image: expected 4 channels where alpha is kept, found ", options.channels);
  if (options.channels == 1 || options.channels == 3) return {};
  return invalid("image: expected 1 or 3 channels, found ", options.channels);
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

void blend_alpha(Image* image, const Colour& background) {
  const size_t count = static_cast<size_t>(image->width) * image->height;
  image->channels -= 1;
  if (image->deep)
    blend_values(reinterpret_cast<uint16_t*>(image->pixels.data()), count, image->channels, background);
  else
    blend_values(image->pixels.data(), count, image->channels, background);
}

void to_gray(Image* image) {
  const uint8_t* from = image->pixels.data();
  const size_t count = static_cast<size_t>(image->width) * image->height;
  for (size_t i = 0; i < count; ++i, from += 3)
    image->pixels[i] = static_cast<uint8_t>((299 * from[0] + 587 * from[1] + 114 * from[2] + 500) / 1000);
  image->channels = 1;
}

void add_alpha(Image* image) {
  for (size_t i = static_cast<size_t>(image->width) * image->height; i-- > 0;) {
    uint8_t* const to = image->pixels.data() + 4 * i;
    std::memmove(to, image->pixels.data() + 3 * i, 3);
    to[3] = 255;
  }
  image->channels = 4;
}

void crop_pixels(Image* image, const ImageWindow& window) {
  const size_t pixel = static_cast<size_t>(image->channels) * (image->deep ? 2 : 1);
  const size_t from_row = static_cast<size_t>(image->width) * pixel;
  const size_t to_row = static_cast<size_t>(window.width) * pixel;
  for (int y = 0; y < window.height; ++y)
    std::memmove(
        image->pixels.data() + static_cast<size_t>(y) * to_row,
        image->pixels.data() + static_cast<size_t>(window.y + y) * from_row + static_cast<size_t>(window.x) * pixel,
        to_row);
  image->width = window.width;
  image->height = window.height;
}

}  // namespace tenon
