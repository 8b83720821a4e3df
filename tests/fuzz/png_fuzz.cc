// PNG: the first byte picks the channels. Checksums of chunks stay on: libpng's own fuzzing has them off.
#include <cstdlib>

#include "data/image/image.h"

using namespace tenon;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  DecodeOptions options;
  options.channels = data[0] & 1 ? 1 : 3;
  options.max_bytes = 1 << 20;
  Image image;
  (void)decode_png(bytes, options, &image);
  if (image.pixels.size() > size_t{1} << 20) std::abort();
  (void)read_image_info(bytes);
  return 0;
}
