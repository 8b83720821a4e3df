// What pictures are drawn on. The library that draws is loaded only by who makes a picture: lib/tenon/pictures/cairo.so
// (Debian: libcairo2, libpangocairo-1.0-0), built where these have their headers.
//
// Lengths are in pixels of 1/96 inch, from the upper left corner; text is UTF-8. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tenon::pictures {

struct Color {
  double red = 0, green = 0, blue = 0, alpha = 1;
};
struct Place {
  double x = 0, y = 0;
};
struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
  Place middle() const { return {x + width / 2, y + height / 2}; }
};
struct Extent {
  double width = 0, height = 0;
};

// Which point of a text its place is.
enum class Across : uint8_t { kLeft, kMiddle, kRight };
enum class Down : uint8_t { kTop, kMiddle, kBottom };

struct TextStyle {
  double size = 12;  // of the font
  Color color = {};
  bool bold = false;
  Across across = Across::kLeft;
  Down down = Down::kMiddle;
  double turned = 0;      // degrees, clockwise, around its place
  double most_width = 0;  // what is longer ends with an ellipsis; 0: any
};
struct Stroke {
  Color color = {};
  double width = 1;
  std::vector<double> dashes = {};  // lengths of lines and gaps; none: all is line
};

class Canvas {
 public:
  virtual ~Canvas() = default;
  virtual Extent measure(const std::string& text, const TextStyle& style) = 0;
  virtual void text(Place at, const std::string& text, const TextStyle& style) = 0;
  virtual void line(const std::vector<Place>& points, const Stroke& stroke) = 0;
  virtual void fill(const Box& box, Color color, double corner = 0) = 0;  // corner: its radius
  virtual void dot(Place at, double radius, Color color) = 0;
  // Pixels of 3 bytes, row by row, stretched over the box; small ones stay squares.
  virtual void image(const Box& box, const uint8_t* pixels, int width, int height) = 0;
  // Until unclip() nothing is drawn outside of the box.
  virtual void clip(const Box& box) = 0;
  virtual void unclip() = 0;
  // The bytes of the file; empty, and *error says why, where that failed. Nothing is drawn after it.
  virtual std::string finish(std::string* error) = 0;
};

enum class Format : uint8_t { kPng, kSvg };

// `scale`: pixels of a PNG for each of the canvas's. Throws Error where the library is not there, or draws another version of
// this interface.
std::unique_ptr<Canvas> new_canvas(Format format, double width, double height, double scale = 2);

}  // namespace tenon::pictures

// What the library exports: version kCanvasVersion, and a canvas, or nullptr.
inline constexpr unsigned kCanvasVersion = 1;
extern "C" {
using tenon_canvas_version_fn = unsigned();
using tenon_canvas_new_fn = tenon::pictures::Canvas*(tenon::pictures::Format format, double width, double height,
                                                     double scale);
}
