// Numbers as bars, one below the other.
#pragma once

#include <string>
#include <vector>

#include "pictures/canvas.h"

namespace tenon::pictures {

struct Bar {
  std::string name, note = {};  // the note stands below the name
  double value = 0;
  std::string text;   // at its end
  bool pale = false;  // of another kind: predicted, not measured
};
struct BarsPicture {
  std::string title, subtitle = {};
  std::vector<Bar> bars = {};
};

Extent size_of(Canvas& canvas, const BarsPicture& picture);
void draw(Canvas& canvas, const BarsPicture& picture, Extent size);

}  // namespace tenon::pictures
