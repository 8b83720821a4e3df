#include "pictures/curves.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "pictures/style.h"

namespace tenon::pictures {
namespace {

constexpr double kGap = 34, kHeadingRoom = 26, kTickRoom = 22, kLabelRoom = 20, kSample = 26, kLegendLine = 22,
                 kNear = 1.5, kWider = 1.7;
constexpr size_t kFewCurves = 2, kDotsOfFew = 40, kDotsOfMany = 12;  // points of a curve that are shown each

struct Range {
  double low = INFINITY, high = -INFINITY;
  void add(double v) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  bool any() const { return low <= high; }
};

const std::vector<double> kDashes{6, 3.5};

size_t columns_of(size_t panels) { return panels <= 1 ? 1 : panels <= 4 ? 2 : 3; }

// A panel with its axes on the canvas.
class PanelDrawing {
 public:
  PanelDrawing(Canvas& canvas, const Panel& panel, const Box& box) : canvas_(canvas), panel_(panel), box_(box) {
    Range across, up;
    for (const Curve& curve : panel.curves)
      for (const auto* points : {&curve.points, &curve.raw})
        for (const Place& p : *points)
          if (std::isfinite(p.y) && (!panel.log || p.y > 0)) across.add(p.x), up.add(p.y);
    if (!up.any()) across.add(0), across.add(1), up.add(panel.log ? 1 : 0), up.add(panel.log ? 10 : 1);
    if (across.low == across.high) across.add(across.low - 0.5), across.add(across.high + 0.5);
    const double room = (across.high - across.low) * 0.015;
    x_.emplace(across.low - room, across.high + room, panel.whole ? Scale::kWhole : Scale::kLinear);
    y_.emplace(Axis::padded(up.low, up.high, panel.log ? Scale::kLog : Scale::kLinear));
    place_plot();
  }

  void draw() {
    canvas_.text({box_.x, box_.y + 8}, panel_.title,
                 {.size = kHeadingSize, .color = kInk, .bold = true, .most_width = box_.width});
    draw_axes();
    canvas_.clip({plot_.x - 4, plot_.y - 4, plot_.width + 8, plot_.height + 8});
    for (const Curve& curve : panel_.curves) draw_curve(curve.raw, curve, true);
    for (size_t i = 0; i < panel_.curves.size(); ++i)
      draw_curve(panel_.curves[i].points, panel_.curves[i], false, kWider * static_cast<double>(covers(i)));
    canvas_.unclip();
  }

 private:
  // Beside the numbers, which are as wide as they are.
  void place_plot() {
    const double height = box_.height - kHeadingRoom - kTickRoom - kLabelRoom;
    y_ticks_ = y_->ticks(static_cast<int>(height / 48));
    double widest = 0;
    for (const Tick& tick : y_ticks_) widest = std::max(widest, canvas_.measure(tick.label, number_style()).width);
    plot_ = {box_.x + widest + 8, box_.y + kHeadingRoom, box_.width - widest - 8 - 6, height};
    x_ticks_ = x_->ticks(static_cast<int>(plot_.width / 75));
  }

  static TextStyle number_style() { return {.size = kSmallSize, .color = kSoftInk}; }

  void draw_axes() {
    for (const Tick& tick : y_ticks_) {
      const double y = height_of(tick.at);
      canvas_.line({{plot_.x, y}, {plot_.right(), y}}, {kGrid, 1});
      TextStyle style = number_style();
      style.across = Across::kRight;
      canvas_.text({plot_.x - 8, y}, tick.label, style);
    }
    canvas_.line({{plot_.x, plot_.bottom()}, {plot_.right(), plot_.bottom()}}, {kAxis, 1});
    for (const Tick& tick : x_ticks_) {
      const double x = across_of(tick.at);
      canvas_.line({{x, plot_.bottom()}, {x, plot_.bottom() + 4}}, {kAxis, 1});
      TextStyle style = number_style();
      style.across = Across::kMiddle;
      style.down = Down::kTop;
      canvas_.text({x, plot_.bottom() + 6}, tick.label, style);
    }
    canvas_.text({plot_.middle().x, plot_.bottom() + kTickRoom + 3}, panel_.x_label,
                 {.size = kSmallSize, .color = kSoftInk, .across = Across::kMiddle, .down = Down::kTop});
  }

  // How many of those behind it in the list, which are drawn over it, lie on most of it: it has to be seen below them.
  size_t covers(size_t i) const {
    size_t covering = 0;
    for (size_t other = i + 1; other < panel_.curves.size(); ++other)
      covering +=
          panel_.curves[i].dashed == panel_.curves[other].dashed && coincide(panel_.curves[i], panel_.curves[other]);
    return covering;
  }
  bool coincide(const Curve& a, const Curve& b) const {
    size_t near = 0;
    for (size_t i = 0, j = 0; i < a.points.size(); ++i) {
      while (j < b.points.size() && b.points[j].x < a.points[i].x) ++j;
      if (j == b.points.size()) break;
      near += b.points[j].x == a.points[i].x && std::abs(height_of(a.points[i].y) - height_of(b.points[j].y)) < kNear;
    }
    return 2 * near > a.points.size();
  }

  void draw_curve(const std::vector<Place>& points, const Curve& curve, bool faint, double wider = 0) {
    Stroke stroke{curve.color, faint ? 1.2 : 2 + wider, curve.dashed && !faint ? kDashes : std::vector<double>()};
    if (faint) stroke.color.alpha = 0.28;
    const bool dots = !faint && points.size() <= (panel_.curves.size() <= kFewCurves ? kDotsOfFew : kDotsOfMany);
    std::vector<Place> stretch;
    const auto end_stretch = [&] {
      if (stretch.size() > 1) canvas_.line(stretch, stroke);
      if (dots || (stretch.size() == 1 && !faint))
        for (const Place& p : stretch) draw_dot(p, curve);
      stretch.clear();
    };
    for (const Place& p : points)
      if (y_->shows(p.y))
        stretch.push_back({across_of(p.x), height_of(p.y)});
      else
        end_stretch();
    end_stretch();
  }

  // Those of dashed curves are hollow.
  void draw_dot(Place at, const Curve& curve) {
    canvas_.dot(at, 3.2, kPaper);
    canvas_.dot(at, 2.6, curve.color);
    if (curve.dashed) canvas_.dot(at, 1.3, kPaper);
  }

  double across_of(double x) const { return plot_.x + x_->place(x) * plot_.width; }
  double height_of(double y) const { return plot_.bottom() - y_->place(y) * plot_.height; }

  Canvas& canvas_;
  const Panel& panel_;
  Box box_, plot_;
  std::optional<Axis> x_, y_;
  std::vector<Tick> x_ticks_, y_ticks_;
};

// Returns the height that it takes; draws where `draws`.
double legend(Canvas& canvas, const std::vector<LegendEntry>& entries, Place at, double width, bool draws) {
  const TextStyle style{.size = kTextSize, .color = kInk};
  double x = at.x, y = at.y;
  for (const LegendEntry& entry : entries) {
    const double wide = kSample + 7 + canvas.measure(entry.text, style).width + 22;
    if (x > at.x && x + wide - 22 > at.x + width) x = at.x, y += kLegendLine;
    if (draws) {
      const double middle = y + kLegendLine / 2;
      canvas.line({{x, middle}, {x + kSample, middle}},
                  {entry.color, 2.4, entry.dashed ? kDashes : std::vector<double>()});
      canvas.text({x + kSample + 7, middle}, entry.text, style);
    }
    x += wide;
  }
  return entries.empty() ? 0 : y + kLegendLine - at.y;
}

}  // namespace

Extent size_of(Canvas&, const CurvesPicture& picture) {
  const size_t panels = std::max<size_t>(picture.panels.size(), 1), columns = columns_of(panels);
  const auto rows = static_cast<double>((panels + columns - 1) / columns), across = static_cast<double>(columns);
  const double width = panels == 1 ? 720 : 430, height = panels == 1 ? 420 : 300;
  return {2 * kMargin + across * width + (across - 1) * kGap, 2 * kMargin + 66 + rows * height + (rows - 1) * kGap};
}

void draw(Canvas& canvas, const CurvesPicture& picture, Extent size) {
  const double width = size.width - 2 * kMargin;
  double top = kMargin;
  if (!picture.title.empty()) {
    canvas.text({kMargin, top + 8}, picture.title,
                {.size = kTitleSize, .color = kInk, .bold = true, .most_width = width});
    top += 30;
  }
  const double rows_of_legend = legend(canvas, picture.legend, {kMargin, top}, width, true);
  top += rows_of_legend > 0 ? rows_of_legend + 14 : 6;
  const size_t panels = picture.panels.size(), columns = columns_of(panels);
  const size_t rows = (panels + columns - 1) / columns;
  const double wide = (width - kGap * static_cast<double>(columns - 1)) / static_cast<double>(columns);
  const double high =
      (size.height - kMargin + 8 - top - kGap * static_cast<double>(rows - 1)) / static_cast<double>(rows);
  for (size_t i = 0; i < panels; ++i) {
    const auto column = static_cast<double>(i % columns), row = static_cast<double>(i / columns);
    PanelDrawing(canvas, picture.panels[i], {kMargin + column * (wide + kGap), top + row * (high + kGap), wide, high})
        .draw();
  }
}

}  // namespace tenon::pictures
