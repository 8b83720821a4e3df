// A picture as a file.
#pragma once

#include <string>

#include "pictures/canvas.h"
#include "tenon/status.h"

namespace tenon::pictures {

// The bytes of the file, of the picture's own size, or of another where that is above 0. Throws Error.
template <class Picture>
std::string drawn(const Picture& picture, Format format, double scale, Extent other = {}) {
  const std::unique_ptr<Canvas> measuring = new_canvas(format, 1, 1, 1);
  Extent size = size_of(*measuring, picture);
  if (other.width > 0) size.width = other.width;
  if (other.height > 0) size.height = other.height;
  const std::unique_ptr<Canvas> canvas = new_canvas(format, size.width, size.height, scale);
  draw(*canvas, picture, size);
  std::string error, file = canvas->finish(&error);
  if (!error.empty()) throw Error(Status(Code::kInternal, "the picture cannot be made: " + error));
  return file;
}

}  // namespace tenon::pictures
