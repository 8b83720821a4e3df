#include "pictures/bars.h"

#include <algorithm>

#include "pictures/axis.h"
#include "pictures/style.h"

namespace tenon::pictures {
namespace {

constexpr double kRow = 46, kBar = 22, kMostNameWide = 260, kUsualWidth = 720, kTextRoom = 84, kAxisRoom = 30;

double names_width(Canvas& canvas, const BarsPicture& p) {
  double widest = 40;
  for (const Bar& bar : p.bars) {
    widest = std::max(widest, canvas.measure(bar.name, {.size = kTextSize}).width);
    widest = std::max(widest, canvas.measure(bar.note, {.size = 10}).width);
  }
  return std::min(widest, kMostNameWide);
}

void draw_name(Canvas& canvas, const Bar& bar, Place right, double width) {
  TextStyle style{.size = kTextSize, .color = kInk, .across = Across::kRight, .most_width = width};
  if (bar.note.empty()) return canvas.text(right, bar.name, style);
  canvas.text({right.x, right.y - 8}, bar.name, style);
  style.size = 10;
  style.color = kSoftInk;
  canvas.text({right.x, right.y + 8}, bar.note, style);
}

}  // namespace

Extent size_of(Canvas&, const BarsPicture& p) {
  return {kUsualWidth, 2 * kMargin + kHeadRoom + static_cast<double>(p.bars.size()) * kRow + kAxisRoom - 12};
}

void draw(Canvas& canvas, const BarsPicture& p, Extent size) {
  const double width = size.width - 2 * kMargin, names = names_width(canvas, p);
  draw_head(canvas, p.title, p.subtitle, width);
  double most = 0;
  for (const Bar& bar : p.bars) most = std::max(most, bar.value);
  const double left = kMargin + names + 14, longest = size.width - kMargin - kTextRoom - left;
  const double top = kMargin + kHeadRoom, bottom = top + static_cast<double>(p.bars.size()) * kRow;
  const Axis axis(0, most > 0 ? most : 1, Scale::kLinear);
  for (const Tick& tick : axis.ticks(static_cast<int>(longest / 80))) {
    const double x = left + axis.place(tick.at) * longest;
    canvas.line({{x, top}, {x, bottom}}, {tick.at == 0 ? kAxis : kGrid, 1});
    canvas.text({x, bottom + 12}, tick.label, {.size = kSmallSize, .color = kSoftInk, .across = Across::kMiddle});
  }
  for (size_t i = 0; i < p.bars.size(); ++i) {
    const Bar& bar = p.bars[i];
    const double middle = top + (static_cast<double>(i) + 0.5) * kRow, length = axis.place(bar.value) * longest;
    canvas.fill({left, middle - kBar / 2, std::max(length, 1.0), kBar}, bar.pale ? tint(kColors[5], 0.75) : kColors[0],
                2);
    draw_name(canvas, bar, {left - 14, middle}, names);
    const TextStyle style{.size = kTextSize, .color = kInk, .bold = true};
    canvas.fill({left + length + 5, middle - 9, canvas.measure(bar.text, style).width + 6, 18},
                kPaper);  // no line through it
    canvas.text({left + length + 8, middle}, bar.text, style);
  }
}

}  // namespace tenon::pictures
