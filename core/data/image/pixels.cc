#include "tenon/pixels.h"

#include "base/strings.h"
#include "data/image/image.h"
#include "tenon/example.h"

namespace tenon {
namespace {

// Pixels of one byte, or of three.
Result<PixelImage> raw_image(const Example& example, std::string_view bytes) {
  TENON_ASSIGN(const int64_t height, example.int64("image/height"));
  TENON_ASSIGN(const int64_t width, example.int64("image/width"));
  constexpr int64_t kMostSide = 1 << 16;
  const bool sound = height > 0 && width > 0 && height < kMostSide && width < kMostSide;
  const int64_t pixels = sound ? height * width : 0, size = std::ssize(bytes);
  if (!sound || (size != pixels && size != 3 * pixels))
    return invalid("image/encoded is no JPEG, no PNG, and has ", size, " bytes, expected ", pixels, " or ", 3 * pixels);
  PixelImage out{static_cast<int>(width), static_cast<int>(height), {}};
  for (const char byte : bytes) out.rgb.insert(out.rgb.end(), size == pixels ? 3 : 1, static_cast<uint8_t>(byte));
  return out;
}

}  // namespace

Result<PixelImage> decode_pixels(std::string_view file) {
  Image image;
  TENON_TRY(decode_image(file, {.channels = 3}, &image));
  image.pixels.resize(image.bytes());
  return PixelImage{image.width, image.height, std::move(image.pixels)};
}

Result<PixelImage> record_pixels(std::string_view record) {
  Example example;
  TENON_TRY(example.parse(record));
  TENON_ASSIGN(const std::string_view bytes, example.bytes("image/encoded"));
  if (image_format(bytes) == ImageFormat::kUnknown) return raw_image(example, bytes);
  return decode_pixels(bytes);
}

}  // namespace tenon
