#include "pictures/sheet.h"

#include <algorithm>

#include "pictures/style.h"

namespace tenon::pictures {
namespace {

constexpr double kSide = 124, kBetween = 18, kWords = 44;

// As large as it fits into the square, in its middle.
Box fitting(const SheetImage& image, const Box& square) {
  const double scale = square.width / std::max(image.width, image.height);
  const double width = image.width * scale, height = image.height * scale;
  return {square.x + (square.width - width) / 2, square.y + (square.height - height) / 2, width, height};
}

void draw_image(Canvas& canvas, const SheetImage& image, const Box& square) {
  canvas.fill(square, kEmpty, 4);
  if (!image.pixels.empty()) canvas.image(fitting(image, square), image.pixels.data(), image.width, image.height);
  canvas.text({square.x, square.bottom() + 12}, image.first,
              {.size = kSmallSize, .color = kInk, .most_width = square.width});
  canvas.text({square.x, square.bottom() + 27}, image.second,
              {.size = kSmallSize, .color = image.wrong ? kColors[1] : kSoftInk, .most_width = square.width});
}

int columns_in(const SheetPicture& p) { return std::max(1, std::min(p.columns, static_cast<int>(p.images.size()))); }

}  // namespace

Extent size_of(Canvas& canvas, const SheetPicture& p) {
  const int columns = columns_in(p), count = static_cast<int>(p.images.size()), rows = (count + columns - 1) / columns;
  const double images = columns * kSide + (columns - 1) * kBetween;
  const double title = canvas.measure(p.title, {.size = kTitleSize, .bold = true}).width;
  const double subtitle = canvas.measure(p.subtitle, {.size = kTextSize}).width;
  return {std::max({images, title, subtitle}) + 2 * kMargin, 2 * kMargin + kHeadRoom - 8 + rows * (kSide + kWords)};
}

void draw(Canvas& canvas, const SheetPicture& p, Extent size) {
  const double width = size.width - 2 * kMargin;
  draw_head(canvas, p.title, p.subtitle, width);
  const int columns = columns_in(p);
  for (int i = 0; i < static_cast<int>(p.images.size()); ++i)
    draw_image(canvas, p.images[static_cast<size_t>(i)],
               {kMargin + (i % columns) * (kSide + kBetween), kMargin + kHeadRoom + (i / columns) * (kSide + kWords),
                kSide, kSide});
}

}  // namespace tenon::pictures
