// JPEG: the first two bytes pick options and a window; a window is the whole image, cropped; the whole is what libjpeg decodes
// without the library's Huffman decoder.
#include <cstdlib>
#include <cstring>

#include "data/image/image.h"
#include "unit/data/jpeg_reader.h"

using namespace tenon;

static void check_window(std::string_view bytes, DecodeOptions options, const Image& whole, uint8_t place) {
  if (whole.scale != 1 || whole.width == 0) return;
  options.window = {whole.width * (place & 7) / 8, whole.height * (place >> 3 & 7) / 8, 1, 1};
  Image part;
  if (!decode_jpeg(bytes, options, &part).ok()) std::abort();
  const size_t at = (static_cast<size_t>(options.window.y) * whole.width + options.window.x) * whole.channels;
  if (options.accurate && std::memcmp(part.pixels.data(), whole.pixels.data() + at, part.bytes()) != 0) std::abort();
}

static void check_whole(std::string_view bytes, const DecodeOptions& options, const Status& status, const Image& image) {
  const bool limited = status.message().find(" needs ") != std::string::npos || status.message().find("scans") != std::string::npos;
  if (limited) return;
  const PlainJpeg plain =
      read_plain_jpeg(bytes, {.channels = options.channels, .scale = status.ok() ? image.scale : 1, .accurate = options.accurate});
  if (plain.whole() != status.ok()) std::abort();
  if (!status.ok() || plain.channels == 4) return;
  if (plain.pixels.size() != image.bytes() || std::memcmp(plain.pixels.data(), image.pixels.data(), image.bytes()) != 0) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  DecodeOptions options;
  options.channels = data[0] & 1 ? 1 : 3;
  options.accurate = data[0] & 2;
  options.min_width = data[0] & 4 ? 4 : 0;
  options.max_bytes = 1 << 20;
  Image image;
  const Status status = decode_jpeg(bytes, options, &image);
  if (image.pixels.size() > size_t{2} << 20) std::abort();
  check_whole(bytes, options, status, image);
  if (status.ok()) check_window(bytes, options, image, data[1]);
  (void)read_image_info(bytes);
  return 0;
}
