// Curves over steps or epochs, in panels side by side.
#pragma once

#include <string>
#include <vector>

#include "pictures/axis.h"
#include "pictures/canvas.h"

namespace tenon::pictures {

struct Curve {
  std::vector<Place> points;    // of numbers; the curve is broken where one is not finite
  std::vector<Place> raw = {};  // drawn faintly behind it: what was smoothed
  Color color = {};
  bool dashed = false;
};
struct Panel {
  std::string title, x_label;
  std::vector<Curve> curves = {};
  bool whole = true;  // numbers below the axis are whole
  bool log = false;   // the scale of what is measured
};
struct LegendEntry {
  std::string text;
  Color color = {};
  bool dashed = false;
};
struct CurvesPicture {
  std::string title;
  std::vector<LegendEntry> legend = {};
  std::vector<Panel> panels = {};
};

// One panel is larger than each of several.
Extent size_of(Canvas& canvas, const CurvesPicture& picture);
void draw(Canvas& canvas, const CurvesPicture& picture, Extent size);

}  // namespace tenon::pictures
