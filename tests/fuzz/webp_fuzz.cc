// WebP: the first two bytes pick options and a window; a window is the whole image, cropped.
#include <cstdlib>
#include <cstring>

#include "data/image/image.h"

using namespace tenon;

static void check_webp_window(std::string_view bytes, DecodeOptions options, const Image& whole, uint8_t place) {
  options.window = {whole.width * (place & 7) / 8, whole.height * (place >> 3 & 7) / 8, 1, 1};
  Image part;
  if (!decode_webp(bytes, options, &part).ok()) std::abort();
  const size_t at = (static_cast<size_t>(options.window.y) * whole.width + options.window.x) * whole.channels;
  if (std::memcmp(part.pixels.data(), whole.pixels.data() + at, part.bytes()) != 0) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  DecodeOptions options;
  options.alpha = static_cast<Alpha>(data[0] % 3);
  options.channels = options.alpha == Alpha::kKeep ? 4 : data[0] & 4 ? 1 : 3;
  options.max_bytes = 1 << 20;
  Image image;
  const Status status = decode_webp(bytes, options, &image);
  if (image.pixels.size() > size_t{2} << 20) std::abort();
  if (status.ok()) check_webp_window(bytes, options, image, data[1]);
  (void)read_image_info(bytes);
  return 0;
}
