// Images side by side with words below each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pictures/canvas.h"

namespace tenon::pictures {

struct SheetImage {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels = {};  // 3 bytes each, row by row; none: the words alone
  std::string first = {}, second = {};
  bool wrong = false;  // `second` is shown as a mistake
};
struct SheetPicture {
  std::string title, subtitle = {};
  std::vector<SheetImage> images = {};
  int columns = 6;
};

Extent size_of(Canvas& canvas, const SheetPicture& picture);
void draw(Canvas& canvas, const SheetPicture& picture, Extent size);

}  // namespace tenon::pictures
