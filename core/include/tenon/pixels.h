// Images as they are, for who shows them; models get theirs from a Dataset.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tenon/status.h"

namespace tenon {

struct PixelImage {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb = {};  // 3 bytes a pixel, row by row; gray is three times the same
};

// The pixels of a JPEG or PNG file, in its own size.
Result<PixelImage> decode_pixels(std::string_view file);
// The pixels of a record as `tenon convert images` and `idx` write it: image/encoded is a file, or pixels of
// image/height and image/width.
Result<PixelImage> record_pixels(std::string_view record);

}  // namespace tenon
